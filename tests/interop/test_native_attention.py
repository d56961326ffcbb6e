"""`interop.to_native`: attention becomes torch's function and layer, with the masks that these compute the same for."""

import math

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as CF
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from compatgrad.mxnet import gluon
from tests.interop.test_native_layers import accepted, image

QKV = (image(2, 3, 5, 4), image(2, 3, 5, 4) * 2, image(2, 3, 5, 3))
OF_HEADS = tuple(x[0] for x in QKV)


def test_other_scales_and_weights_that_are_returned():
    def forward(q, k, v, scale):
        weights = CF.softmax(CF.matmul(q, k, transb=True) * scale, axis=2)
        return CF.matmul(weights, v), weights

    inputs = [image(2, 5, 4), image(2, 6, 4) * 2, image(2, 6, 3)]
    result = accepted(interop.to_native(lambda q, k, v: forward(q, k, v, 0.3)[0], *inputs, frontend="chainer"),
                      "train", "eval")  # fmt: skip
    assert "F.scaled_dot_product_attention(q, k, v, scale=0.3)" in result.source
    result = accepted(interop.to_native(lambda q, k, v: forward(q, k, v, 0.5), *inputs, frontend="chainer"),
                      "train", "eval")  # fmt: skip
    assert "scaled_dot_product_attention" not in result.source and result.notes == []


# ---- masks that are known --------------------------------------------------------------------------------------------


def chosen(keep, fill):
    def forward(q, k, v):
        scores = CF.matmul(q, k, transb=True) / math.sqrt(4)
        keeps = np.broadcast_to(keep, scores.shape)
        weights = CF.softmax(CF.where(keeps, scores, np.full(scores.shape, fill, scores.dtype)), axis=-1)
        return CF.matmul(CF.dropout(weights, 0.2), v)

    return forward


BEFORE = np.tril(np.ones((5, 5), bool))
SOME = np.arange(5) % 2 == 0


@pytest.mark.parametrize(
    ("keep", "fill", "text"),
    [(BEFORE, -1e9, "is_causal=True"), (BEFORE, -np.inf, "is_causal=True"), (SOME, -1e9, "attn_mask=self.constant_0"),
     (np.tril(BEFORE, -1), -1e9, None), (SOME, -5.0, None)],
    ids=["causal", "causal, infinite", "some", "a row is masked", "only smaller"],
)  # fmt: skip
@pytest.mark.parametrize("inputs", [QKV, OF_HEADS], ids=["batch and heads", "heads"])
def test_constant_choice(keep, fill, text, inputs):
    result = accepted(interop.to_native(chosen(keep, fill), *inputs, frontend="chainer"), "train", "eval")
    if text is None:
        assert "F.softmax(" in result.source and "scaled_dot_product" not in result.source
    else:
        assert "F.softmax(" not in result.source and text in result.source
        assert ".reshape(" not in result.source, "the axes of batch and heads stay"


@pytest.mark.parametrize(
    ("keep", "hidden", "text"),
    [(BEFORE, -1e9, "is_causal=True"), (BEFORE, -2.0, "attn_mask=self.constant_0"),
     (SOME, -np.inf, "attn_mask=self.constant_0"), (np.tril(BEFORE, -1), -1e9, None)],
    ids=["causal", "small", "some", "a row is masked"],
)  # fmt: skip
def test_constant_summand(keep, hidden, text):
    added = nn.Variable.from_numpy_array(np.where(np.broadcast_to(keep, (1, 5, 5)), 0, hidden))

    def forward(q, k, v):
        weights = NF.softmax(added + NF.batch_matmul(q, k, transpose_b=True) * 0.5, axis=2)
        return NF.batch_matmul(weights, v)

    result = accepted(interop.to_native(forward, *OF_HEADS, frontend="nnabla"), "eval")
    assert (text or "F.softmax(") in result.source
    assert ("F.softmax(" in result.source) == (text is None)


class Biased(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.near = chainer.Parameter(np.random.RandomState(0).normal(0, 1, (1, 3, 5, 5)).astype("f"))

    def forward(self, q, k, v):
        scores = CF.matmul(q, k, transb=True)
        return CF.matmul(CF.softmax(scores + CF.broadcast_to(self.near, scores.shape), axis=-1), v)


def test_learned_summand():
    result = accepted(interop.to_native(Biased(), *QKV), "train", "eval")
    assert "attn_mask=self.near.expand(" in result.source
    result.module(*QKV).square().sum().backward()
    assert result.module.near.grad.abs().min() > 0


# ---- masks that are inputs -------------------------------------------------------------------------------------------


def test_summand_that_is_an_input_stays():
    """torch's gradient is wrong for a row that large negative numbers mask."""

    def forward(q, k, v, mask):
        return NF.batch_matmul(NF.softmax(NF.batch_matmul(q, k, transpose_b=True) + mask, axis=2), v)

    mask = torch.where(torch.ones(3, 5, 5).tril(-1) > 0, 0.0, -1e9)
    result = accepted(interop.to_native(forward, *OF_HEADS, mask, frontend="nnabla"), "eval")
    assert "scaled_dot_product_attention" not in result.source


class Lengths(gluon.HybridBlock):
    """Weights of masked elements are set to 0, as GluonNLP does it."""

    def __init__(self, inverted=False):
        super().__init__()
        self.inverted = inverted

    def hybrid_forward(self, F, q, k, v, length):
        scores = F.batch_dot(q * 0.5, k, transpose_b=True)
        steps = F.arange(0, 5).reshape((1, 1, 5))
        keep = F.broadcast_lesser(steps, length.reshape((-1, 1, 1)))
        keep = F.broadcast_mul(keep, F.ones_like(F.arange(0, 5)).reshape((1, 5, 1)))
        weights = F.softmax(F.where(keep, scores, -1e18 * F.ones_like(scores)), axis=-1)
        return F.batch_dot(F.Dropout(weights * (1 - keep if self.inverted else keep), p=0.1), v)


class SoftmaxOfLengths(gluon.HybridBlock):
    def hybrid_forward(self, F, q, k, v, length):
        length = F.broadcast_to(length.reshape((-1, 1)), shape=(0, 5)).astype("int32")
        weights = F.softmax(F.batch_dot(q, k, transpose_b=True), length=length, use_length=True, axis=-1)
        return F.batch_dot(weights, v)


class GivenMask(gluon.HybridBlock):
    """The mask is an input, whose numbers may be other ones than 0 and 1."""

    def hybrid_forward(self, F, q, k, v, mask):
        scores = F.batch_dot(q, k, transpose_b=True)
        return F.batch_dot(F.softmax(F.where(mask, scores, -1e18 * F.ones_like(scores)), axis=-1) * mask, v)


LENGTHS = torch.tensor([0.0, 3.0, 5.0])  # all of the first sample is masked


@pytest.mark.parametrize(
    ("block", "mask", "joined"),
    [(Lengths(), LENGTHS, True), (SoftmaxOfLengths(), LENGTHS, True), (Lengths(inverted=True), LENGTHS, False),
     (GivenMask(), torch.full((3, 5, 5), 2.0), False)],
    ids=["lengths", "softmax of lengths", "other elements are masked", "given"],
)  # fmt: skip
def test_weights_of_masked_elements_are_zero(block, mask, joined):
    result = accepted(interop.to_native(block, *OF_HEADS, mask), "train", "eval")
    assert ("F.scaled_dot_product_attention(" in result.source) == joined
    assert ("F.softmax(" in result.source) != joined
    if joined:
        assert "attn_mask=" in result.source
        y = result.module(*OF_HEADS, mask)
        assert bool((y[0] == 0).all()) and bool((y[1:] != 0).any())


# ---- nnabla's layer --------------------------------------------------------------------------------------------------

X = image(5, 2, 8)
AFTER = torch.where(torch.ones(5, 5).tril(-1) > 0, 0.0, -1e9)  # the first row is masked throughout
PADDING = torch.tensor([[0.0, 0, 1, 1, 0], [0, 0, 0, 0, 0]])

LAYERS = {
    "own": (lambda x: PF.multi_head_attention(x, x, x, num_heads=4)[0], (X,), "(x, x, x, need_weights=False)"),
    "weights and mask": (lambda x, m: PF.multi_head_attention(x, x, x, num_heads=4, additive_mask=m), (X, AFTER),
                         "attn_mask=m, average_attn_weights=False"),
    "other sources": (lambda x, k, v: PF.multi_head_attention(x, k, v, 2, v_embed_dim=8, add_attn_bias=True)[0],
                      (X, image(6, 2, 7), image(6, 2, 6)), "(8, 2, add_bias_kv=True, kdim=7, vdim=6)"),
    "padding": (lambda x, m: PF.multi_head_attention(x, x, x, num_heads=2, with_bias=False, key_padding_mask=m)[0],
                (X, PADDING), "key_padding_mask=m.bool())"),
    "two masks": (lambda x, a, m: PF.multi_head_attention(x, x, x, 2, additive_mask=a, key_padding_mask=m)[0],
                  (X, image(5, 5), PADDING), "attn_mask=a, key_padding_mask=torch.zeros_like(m)"),
    "dropout": (lambda x: PF.multi_head_attention(x, x, x, 2, 0.3), (X,), "nn.MultiheadAttention(8, 2, dropout=0.3)"),
}  # fmt: skip


def written(forward, inputs, graph=False):
    nn.clear_parameters()
    variables = [nn.Variable(x.shape) for x in inputs]
    y = forward(*variables)
    for k, p in enumerate(nn.get_parameters(grad_only=False).values()):
        p.d = np.random.RandomState(k).normal(0, 0.4, p.shape).astype("f")
    parameters = nn.get_parameters(grad_only=False)
    if graph:
        return interop.to_native(y, *variables, parameters=parameters, dynamic=False)
    return interop.to_native(forward, *inputs, frontend="nnabla", parameters=parameters, dynamic=False)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_of_nnabla(name):
    forward, inputs, text = LAYERS[name]
    result = accepted(written(forward, inputs), "train" if name == "dropout" else "eval")
    assert text in result.source and "nn.Linear" not in result.source
    back = result.legacy_state()
    assert all(np.array_equal(back[name].numpy(), p.d) for name, p in nn.get_parameters(grad_only=False).items())
    nn.clear_parameters()


def test_other_layers_of_nnabla_are_linear_layers_and_attention():
    """torch's layer has no other width of the output; a graph that exists consists of the functions."""
    for forward, graph in (
        (lambda x: PF.multi_head_attention(x, x, x, num_heads=2, out_dim=6)[0], False),
        (lambda x: PF.multi_head_attention(x, x, x, num_heads=2)[0], True),
    ):
        source = accepted(written(forward, (X,), graph), "eval").source
        assert source.count("nn.Linear(") == 4 and "F.scaled_dot_product_attention(" in source
    nn.clear_parameters()


def test_one_weight_for_queries_and_keys_stays_two_layers():
    def forward(x):
        w = nn.parameter.get_parameter_or_create("w", (8, 8), need_grad=True)
        return NF.multi_head_attention(x, x, x, 2, w, w, w, w)[0]

    result = accepted(written(forward, (X,)), "eval")
    assert "nn.MultiheadAttention" not in result.source
    nn.clear_parameters()


def test_attention_of_a_symbol_with_lengths():
    """The mask of MXNet's softmax, in a symbol."""
    q, k, v, n = (mx.sym.var(name) for name in "qkvn")
    lengths = mx.sym.broadcast_to(mx.sym.reshape(n, (-1, 1)), shape=(0, 5)).astype("int32")
    weights = mx.sym.softmax(mx.sym.batch_dot(q, k, transpose_b=True), length=lengths, use_length=True, axis=-1)
    block = gluon.SymbolBlock(mx.sym.batch_dot(weights, v), [q, k, v, n])
    result = accepted(interop.to_native(block, *OF_HEADS, LENGTHS), "train", "eval")
    assert "F.scaled_dot_product_attention(" in result.source
