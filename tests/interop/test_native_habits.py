"""`interop.to_native`: networks as programs write them, with attention, loops, tied weights and nested arguments."""

import math

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as CF
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from compatgrad.mxnet import gluon
from tests.interop.test_native_layers import Model, accepted, image

IDS = torch.tensor([[1, 4, 0], [8, 2, 2]])


def chainer_attention():
    def heads(self, link, x):
        return CF.transpose(CF.reshape(link(x, n_batch_axes=2), (*x.shape[:2], 2, 4)), (0, 2, 1, 3))

    def forward(self, x):
        q, k, v = (heads(self, link, x) for link in (self.q, self.k, self.v))
        weights = CF.dropout(CF.softmax(CF.matmul(q, k, transb=True) / math.sqrt(4), axis=3), 0.1)
        y = CF.reshape(CF.transpose(CF.matmul(weights, v), (0, 2, 1, 3)), (-1, 8))
        return CF.reshape(self.norm(self.out(y) + CF.reshape(x, (-1, 8))), x.shape)

    return Model(forward, norm=L.LayerNormalization(8), **{n: L.Linear(8, 8) for n in ("q", "k", "v", "out")})


class TiedWords(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.lstm = L.EmbedID(9, 6), L.LSTM(6, 6)
            self.bias = chainer.Parameter(0, 9)

    def forward(self, ids):
        self.lstm.reset_state()
        for t in range(ids.shape[1]):
            h = self.lstm(self.embed(ids[:, t]))
        return CF.linear(h, self.embed.W, self.bias)


def in_place(self, x):
    h = self.a(x)
    h += x
    h *= 2
    y = h
    y -= 1
    return h, y


def upward_and_down(self, x):
    a = CF.relu(self.a(x))
    b = CF.relu(self.b(CF.max_pooling_2d(a, 2)))
    return self.out(CF.concat([a, self.up(b)], axis=1))


CHAINER = {
    "attention": (chainer_attention, (image(2, 5, 8),), "dropout_p=0.1 if self.training else 0.0)"),
    "tied words": (TiedWords, (IDS,), "nn.LSTMCell(6, 6)"),
    "in place": (lambda: Model(in_place, a=L.Linear(3, 3)), (image(4, 3),), "nn.Linear(3, 3)"),
    "U-Net": (lambda: Model(upward_and_down, a=L.Convolution2D(3, 4, 3, pad=1), b=L.Convolution2D(4, 8, 3, pad=1),
                            up=L.Deconvolution2D(8, 4, 2, stride=2), out=L.Convolution2D(8, 2, 1)),
              (image(2, 3, 8, 8),), "nn.ConvTranspose2d(8, 4, 2, stride=2)"),
    "lists and dicts": (lambda: Model(lambda self, xs, d: [self.a(xs[0]) + self.b(xs[1]), {"z": (d["y"] * 2,)}],
                                      a=L.Linear(3, 3), b=L.Linear(4, 3)),
                        ([image(2, 3), image(2, 4)], {"y": image(2, 3)}), "{'z': ("),
    "a loss": (lambda: Model(lambda self, x, t: CF.softmax_cross_entropy(self.a(x), t), a=L.Linear(3, 5)),
               (image(2, 3), torch.tensor([4, 0])), "F.log_softmax("),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINER)
def test_network_of_chainer(name):
    make, inputs, text = CHAINER[name]
    result = accepted(interop.to_native(make(), *inputs), "train", "eval")
    assert text in result.source and "torch.ops" not in result.source


def mxnet_attention():
    class Attention(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                for name in ("q", "k", "v", "o"):
                    setattr(self, name, gluon.nn.Dense(8, flatten=False))
                self.norm = gluon.nn.LayerNorm()

        def hybrid_forward(self, F, x):
            def heads(y):
                y = F.transpose(F.reshape(y, shape=(0, 0, 2, -1)), axes=(0, 2, 1, 3))
                return F.reshape(y, shape=(-1, 0, 0), reverse=True)

            q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
            weights = F.Dropout(F.softmax(F.batch_dot(q, k, transpose_b=True) / 2), p=0.1)
            y = F.reshape(F.batch_dot(weights, v), shape=(-1, 2, 0, 0), reverse=True)
            return self.norm(self.o(F.reshape(F.transpose(y, axes=(0, 2, 1, 3)), shape=(0, 0, -1))) + x)

    return Attention()


class Loop(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.dense = gluon.nn.Dense(4, in_units=4)

    def hybrid_forward(self, F, x):
        found = []
        for _ in range(3):
            x = F.relu(self.dense(x))
            found.append(x)
        return F.stack(*found, axis=1)


class MxnetTied(gluon.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.embed, self.rnn = gluon.nn.Embedding(9, 6), gluon.rnn.LSTM(6)
            self.out = gluon.nn.Dense(9, flatten=False, params=self.embed.params)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids)))


MXNET = {
    "attention": (mxnet_attention, (image(2, 5, 8),), "dropout_p=0.1 if self.training else 0.0)"),
    "loop": (Loop, (image(3, 4),), "torch.stack("),
    "tied words": (MxnetTied, (IDS.float(),), "nn.LSTM(6, 6)"),
}


@pytest.mark.parametrize("name", MXNET)
def test_network_of_mxnet(name):
    make, inputs, text = MXNET[name]
    block = make()
    block.initialize(mx.init.Uniform(0.5))
    block(*(mx.nd.array(x.numpy()) for x in inputs))
    result = accepted(interop.to_native(block, *inputs), "train", "eval")
    assert text in result.source and "torch.ops" not in result.source


def nnabla_attention(x):
    batch, time, size = x.shape
    q, k, v = (NF.reshape(NF.transpose(NF.reshape(PF.affine(x, size, base_axis=2, name=n), (batch, time, 2, 4)),
                                       (0, 2, 1, 3)), (batch * 2, time, 4)) for n in "qkv")  # fmt: skip
    weights = NF.softmax(NF.batch_matmul(q, k, transpose_b=True) * 0.5, axis=2)
    y = NF.reshape(NF.batch_matmul(weights, v), (batch, 2, time, 4))
    return NF.reshape(NF.transpose(y, (0, 2, 1, 3)), x.shape) + x


def nnabla_tied(ids):
    h = NF.mean(PF.embed(ids, 9, 5, name="e"), axis=1)
    return NF.affine(h, NF.transpose(nn.get_parameters(grad_only=False)["e/embed/W"], (1, 0)))


NNABLA = {
    "attention": (nnabla_attention, (image(2, 5, 8),), "F.scaled_dot_product_attention("),
    "tied words": (nnabla_tied, (IDS.float(),), "nn.Embedding(9, 5)"),
    "shared layer": (lambda x: PF.affine(NF.tanh(PF.affine(x, 4, name="s")), 4, name="s"), (image(3, 4),), "self.s("),
    "weight normalization": (lambda x: PF.affine(x, 3, apply_w=lambda w: PF.weight_normalization(w, dim=1)),
                             (image(3, 4),), "self.W"),
}  # fmt: skip


@pytest.mark.parametrize("name", NNABLA)
def test_network_of_nnabla(name):
    function, inputs, text = NNABLA[name]
    nn.clear_parameters()
    function(*(nn.Variable.from_numpy_array(x.numpy()) for x in inputs))
    for k, p in enumerate(nn.get_parameters().values()):
        p.d = np.random.RandomState(k).normal(0, 0.4, p.shape).astype("f")
    result = interop.to_native(
        function, *inputs, frontend="nnabla", parameters=nn.get_parameters(grad_only=False)
    )  # fmt: skip
    assert text in accepted(result, "eval").source and "torch.ops" not in result.source
    nn.clear_parameters()
