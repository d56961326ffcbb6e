"""Exported networks as ONNX files, run by onnx's own evaluator."""

import numpy as np
import pytest
import torch
from torch.utils import _pytree

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from compatgrad.mxnet import gluon

onnx = pytest.importorskip("onnx", reason="needs the extra compatgrad[onnx]")
pytest.importorskip("onnxscript", reason="needs the extra compatgrad[onnx]")


class ConvNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 4, 3, pad=1)
            self.norm = L.BatchNormalization(4)
            self.out = L.Linear(4 * 4 * 4, 3)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.norm(self.conv(x))), 2)
        return F.softmax(self.out(F.dropout(h)))


def chainer_network():
    return interop.export(ConvNet(), torch.zeros(2, 1, 8, 8)), lambda n: torch.randn(n, 1, 8, 8)


def nnabla_network():
    nn.clear_parameters()

    def network(z):
        h = NF.elu(PF.layer_normalization(PF.affine(z, 2 * 2 * 4, name="fc")))
        h = NF.interpolate(NF.reshape(h, (-1, 4, 2, 2)), scale=(2, 2), mode="nearest")
        return NF.average_pooling(PF.convolution(h, 2, (3, 3), pad=(1, 1)), (2, 2))

    network(nn.Variable((2, 5)))
    graph = interop.export(network, torch.zeros(2, 5), parameters=nn.get_parameters(), frontend="nnabla")
    return graph, lambda n: torch.randn(n, 5)


def gluon_network():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Embedding(7, 4), gluon.rnn.LSTM(3, layout="NTC", input_size=4), gluon.nn.Dense(2))
    net.initialize()
    net(mx.nd.zeros((2, 3)))
    return interop.export(net, torch.zeros(2, 3, dtype=torch.int32)), lambda n: torch.randint(0, 7, (n, 3)).int()


@pytest.mark.parametrize("network", [chainer_network, nnabla_network, gluon_network])
def test_onnx_file_gives_the_networks_numbers_at_any_batch_size(network, tmp_path):
    graph, make = network()
    torch.onnx.export(graph, (make(4),), tmp_path / "net.onnx", dynamic_shapes=[{0: "batch"}], verbose=False)
    model = onnx.load(tmp_path / "net.onnx")
    onnx.checker.check_model(model, full_check=True)
    run = onnx.reference.ReferenceEvaluator(model).run
    for batch in (4, 7):
        x = make(batch)
        found = run(None, {model.graph.input[0].name: x.numpy()})
        expected = _pytree.tree_leaves(graph(x))
        assert len(found) == len(expected)
        for a, b in zip(expected, found, strict=True):
            assert a.shape[0] == batch
            np.testing.assert_allclose(b, a.detach().numpy(), rtol=1e-5, atol=1e-6)
