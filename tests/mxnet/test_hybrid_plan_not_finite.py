"""NaN and infinity that arise inside a planned block reach its results; unusual axes, orders in memory and results."""

import numpy as np
import pytest
import torch

from compatgrad.mxnet import gluon, init, nd
from compatgrad.mxnet.gluon import _plan, nn
from compatgrad.mxnet.symbol import _attention, _inference
from tests.mxnet.hybrid_plans import agree, call_until_planned, without_plan

pytestmark = pytest.mark.skipif(not _plan.fixed_layers.available(), reason="torch has no oneDNN")

RANDOM = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def plans_of_small_networks(monkeypatch):
    monkeypatch.setattr(_plan, "_LAYERS", 0)
    monkeypatch.setattr(_plan, "_weights", lambda block: 1)


class Before(gluon.HybridBlock):
    """Layers after a function that may make NaN of finite numbers."""

    def __init__(self, function, *layers):
        super().__init__()
        self.function, self.layers = function, nn.HybridSequential()
        self.layers.add(*layers)

    def hybrid_forward(self, F, x):
        return self.layers(self.function(F, x))


class AddsAndRectifies(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(16, 3, padding=1)

    def hybrid_forward(self, F, x):
        return F.relu(self.conv(x) + F.sigmoid(x))


def hybridized(block, *inputs):
    block.initialize(init.Uniform(0.5))
    block(*inputs)
    block.hybridize()
    call_until_planned(block, *inputs)
    return block


def clip():
    return nn.HybridLambda(lambda F, x: F.clip(x, 0, 6))


LAYERS = {
    "a convolution with relu": lambda: [nn.Conv2D(16, 3, padding=1, activation="relu")],
    "a convolution of single places": lambda: [nn.Conv2D(16, 1, activation="relu")],
    "a convolution with clip": lambda: [nn.Conv2D(16, 3, padding=1), clip()],
    "a normalized convolution": lambda: [nn.Conv2D(16, 3, padding=1), nn.BatchNorm(), nn.Activation("relu")],
    "an addition": lambda: [AddsAndRectifies()],
    "windows side by side": lambda: [nn.Conv2DTranspose(8, 2, strides=2, activation="relu")],
    "windows that overlap": lambda: [nn.Conv2DTranspose(8, 4, strides=2, padding=1, activation="relu")],
    "a dense layer": lambda: [nn.Dense(16, activation="relu")],
}
FUNCTIONS = {
    "log": (lambda F, x: F.log(x), -1.0),
    "root": (lambda F, x: F.sqrt(x), -1.0),
    "quotient": (lambda F, x: F.broadcast_div(x - 9, x - 9), 9.0),
    "rest of an infinite number": (lambda F, x: F.exp(x) - F.exp(2 * x), 100.0),
    "power of a large number": (lambda F, x: F.square(F.square(F.square(x))) * 1.0, 1e9),
    "factor": (lambda F, x: x * 1e30, 1e9),
}


@pytest.mark.parametrize("layers", LAYERS)
def test_nan_is_not_made_a_number_by_a_layer(layers, monkeypatch):
    monkeypatch.setattr(_inference, "LARGE", 16)
    x = RANDOM.rand(2, 16, 16, 16).astype("float32") + 0.1
    net = hybridized(Before(lambda F, x: F.log(x), *LAYERS[layers]()), nd.array(x))
    agree(net, nd.array(x))
    x[0, :, 3, 3] *= -1
    expected = without_plan(net, nd.array(x))[0]
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(np.isnan(net(nd.array(x)).asnumpy()), np.isnan(expected))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_that_make_nan_or_infinity(function):
    f, number = FUNCTIONS[function]
    x = RANDOM.rand(2, 16, 16, 16).astype("float32") + 0.1
    net = hybridized(Before(f, nn.Conv2D(16, 3, padding=1, activation="relu")), nd.array(x))
    x[0] = number
    expected = without_plan(net, nd.array(x))[0]
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(np.isnan(net(nd.array(x)).asnumpy()), np.isnan(expected))


def test_layers_behind_finite_values_include_relu():
    net = Before(
        lambda F, x: F.broadcast_mul(x, F.sigmoid(x)) / 3,
        nn.Conv2D(16, 3, padding=1, activation="relu"),
        nn.Conv2D(16, 3, padding=1, activation="relu"),
    )
    hybridized(net, nd.array(RANDOM.rand(2, 16, 8, 8)))
    ((program, _),) = net._planner.plans.values()
    assert len(program.steps) == 5  # sigmoid, the product, the quotient and the layers


@pytest.mark.parametrize("factor", [1e30, 1e-30])
def test_factors_of_scores_that_make_up_for_each_other_overflow_as_before(factor):
    def scores(F, x):
        return F.batch_dot(F.softmax(F.batch_dot(x * factor, x, transpose_b=True) / factor), x)

    x = RANDOM.randn(2, 24, 8).astype("float32")
    net = hybridized(Before(scores), nd.array(x))
    expected = without_plan(net, nd.array(x * 1e9))[0]
    np.testing.assert_array_equal(np.isnan(net(nd.array(x * 1e9)).asnumpy()), np.isnan(expected))
    assert np.isnan(expected).any() == (factor > 1)


@pytest.mark.parametrize("mask", [None, (2, 1, 1, 5), (1, 3, 5, 5), (2, 3, 5, 5), (3, 5, 5), (5, 5)])
def test_attention_of_arrays_with_two_axes_of_heads_keeps_them(mask):
    values = None if mask is None else nd.array(RANDOM.randn(*mask))

    class Attention(gluon.HybridBlock):
        def hybrid_forward(self, F, q, k, v, mask=None):
            scores = F.batch_dot(q, k, transpose_b=True)
            scores = scores if mask is None else F.broadcast_add(scores, mask)
            return F.transpose(F.batch_dot(F.softmax(scores), v), (0, 2, 1, 3))

    inputs = [nd.array(RANDOM.randn(2, 3, 5, 4)) for _ in range(3)] + ([] if mask is None else [values])
    net = hybridized(Attention(), *inputs)
    ((program, _),) = net._planner.plans.values()
    assert any(getattr(f, "func", None) is _attention.attend for f, *_ in program.steps)
    agree(net, *inputs)


@pytest.mark.parametrize("flatten", [True, False])
def test_dense_layers_of_arrays_with_one_axis(flatten):
    x = nd.array(RANDOM.randn(6))
    net = Before(lambda F, x: F.reshape(x, (-1,)), nn.Dense(4, flatten=flatten, in_units=1 if flatten else 6))
    hybridized(net, x)
    assert agree(net, x)[0].shape == ((6, 4) if flatten else (4,))


@pytest.mark.parametrize("returned", ["an input", "a result twice"])
def test_results_that_need_a_copy_only_in_some_calls_have_no_plan(returned):
    """A program made for one order of axes in memory would give results that share memory in a call with another."""

    class Returns(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            y = F.transpose(x) + F.transpose(x)
            return [y, F.BlockGrad(x)] if returned == "an input" else [y, y * 2, F.BlockGrad(y)]

    ordered = nd.array(RANDOM.randn(4, 5))
    turned = nd.from_dlpack(torch.randn(5, 4).T)
    for first, second in ((ordered, turned), (turned, ordered)):
        net = Returns()
        net.hybridize()
        for _ in range(3 * _plan._CALLS):
            net(first)
        results = net(second)
        memory = [x.tensor.untyped_storage().data_ptr() for x in (second, *results)]
        assert len({*memory}) == len(memory)
