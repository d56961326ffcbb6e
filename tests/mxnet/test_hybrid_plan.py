"""Plans of hybridized blocks give the results of the operators."""

import numpy as np
import pytest

from compatgrad.mxnet import autograd, gluon, init, nd, random
from compatgrad.mxnet.gluon import _plan, nn
from compatgrad.mxnet.gluon.model_zoo import vision
from tests.mxnet.hybrid_plans import (
    X,
    agree,
    call_until_planned,
    plans,
    randomize,
    runs_without,
    small,
    values,
    without_plan,
)

pytestmark = pytest.mark.skipif(not _plan.fixed_layers.available(), reason="torch has no oneDNN")


@pytest.mark.parametrize(
    "name, size",
    [
        ("resnet18_v1", 32), ("resnet50_v1", 32), ("resnet18_v2", 32), ("resnet50_v2", 32), ("mobilenet0.25", 32),
        ("mobilenetv2_0.25", 32), ("vgg11", 32), ("vgg11_bn", 32), ("squeezenet1.0", 224), ("squeezenet1.1", 224),
        ("densenet121", 224), ("alexnet", 64), ("inceptionv3", 299),
    ],
)  # fmt: skip
def test_networks_of_the_model_zoo(name, size):
    random.seed(0)
    options = {"classes": 7}
    net = vision.get_model(name, **options)
    net.initialize(init.Xavier())
    x = nd.array(np.random.RandomState(2).rand(1 if size > 64 else 2, 3, size, size))
    with autograd.record():
        net(x).sum().backward()  # the running statistics become those of such data
    for p in net.collect_params(".*(gamma|beta)").values():
        p.set_data(p.data() + nd.random.uniform(-0.2, 0.2, p.shape))
    net.hybridize(static_alloc=True, static_shape=True)
    call_until_planned(net, x)
    agree(net, x)
    y = nd.array(np.random.RandomState(3).rand(*x.shape))
    agree(net, y)


FOLLOWERS = {
    "nothing": [],
    "relu": [lambda: nn.Activation("relu")],
    "sigmoid": [lambda: nn.Activation("sigmoid")],
    "relu6": [lambda: nn.HybridLambda(lambda F, x: F.clip(x, 0, 6))],
    "clip": [lambda: nn.HybridLambda(lambda F, x: F.clip(x, -0.1, 0.2))],
    "leaky": [lambda: nn.LeakyReLU(0.3)],
    "prelu": [lambda: nn.PReLU()],
    "elu": [lambda: nn.ELU(0.7)],
    "selu": [lambda: nn.SELU()],
    "gelu": [lambda: nn.GELU()],
    "swish": [lambda: nn.Swish()],
    "norm": [lambda: nn.BatchNorm()],
    "norm and relu": [lambda: nn.BatchNorm(), lambda: nn.Activation("relu")],
    "norm, other eps": [lambda: nn.BatchNorm(epsilon=0.1)],
    "norm without scale": [lambda: nn.BatchNorm(scale=False), lambda: nn.Activation("relu")],
    "norm without center": [lambda: nn.BatchNorm(center=False)],
    "two norms": [lambda: nn.BatchNorm(), lambda: nn.BatchNorm(), lambda: nn.Activation("relu")],
    "norm of another axis": [lambda: nn.BatchNorm(axis=3)],
    "layer norm": [lambda: nn.LayerNorm(axis=1)],
    "instance norm": [lambda: nn.InstanceNorm()],
    "dropout": [lambda: nn.Dropout(0.5)],
    "max pooling": [lambda: nn.MaxPool2D(3, 2, 1)],
    "max pooling, wide padding": [lambda: nn.MaxPool2D(3, 1, 2)],
    "max pooling, full": [lambda: nn.MaxPool2D(3, 2, ceil_mode=True)],
    "mean pooling": [lambda: nn.AvgPool2D(3, 2, 1)],
    "mean pooling without padding": [lambda: nn.AvgPool2D(3, 2, 1, count_include_pad=False)],
    "transposed": [lambda: nn.Conv2DTranspose(5, 3, 2)],
    "transposed, windows that touch": [lambda: nn.Conv2DTranspose(5, 2, 2)],
    "transposed, windows of 3 x 2, norm and relu": [
        lambda: nn.Conv2DTranspose(5, (3, 2), (3, 2), use_bias=False),
        lambda: nn.BatchNorm(),
        lambda: nn.Activation("relu"),
    ],
    "transposed, windows that overlap, norm and relu": [
        lambda: nn.Conv2DTranspose(5, 4, 2, 1, use_bias=False),
        lambda: nn.BatchNorm(),
        lambda: nn.Activation("relu"),
    ],
    "transposed, bias and norm": [lambda: nn.Conv2DTranspose(5, 3, (1, 2), (0, 1)), lambda: nn.BatchNorm()],
    "transposed, clip": [lambda: nn.Conv2DTranspose(5, 2, 2), lambda: nn.HybridLambda(lambda F, x: F.clip(x, 0, 0.2))],
    "transposed, gaps": [lambda: nn.Conv2DTranspose(5, 2, 3)],
    "transposed, groups": [lambda: nn.Conv2DTranspose(4, 2, 2, groups=2)],
    "transposed, padding": [lambda: nn.Conv2DTranspose(5, 2, 2, padding=1)],
    "transposed, longer": [lambda: nn.Conv2DTranspose(5, 2, 2, output_padding=1)],
    "transposed, dilated": [lambda: nn.Conv2DTranspose(5, 2, 2, dilation=2)],
    "reshape": [lambda: nn.HybridLambda(lambda F, x: F.reshape(F.relu(x), (0, 4, 24, -1)))],
    "swapped axes": [lambda: nn.HybridLambda(lambda F, x: F.transpose(x, (0, 1, 3, 2)))],
    "numbers": [lambda: nn.HybridLambda(lambda F, x: 2 - x * 3 / (x * x + 1))],
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_layers_after_a_convolution(name):
    net = small(*[make() for make in FOLLOWERS[name]])
    call_until_planned(net, nd.array(X))
    agree(net, nd.array(X))
    agree(net, nd.array(X))  # operators that ran between have written nothing, but ones into gamma that is fixed


CONVOLUTIONS = {
    "groups": {"groups": 2},
    "depthwise": {"groups": 8},
    "dilation": {"dilation": 2},
    "stride and padding": {"strides": (2, 1), "padding": (0, 2)},
    "no bias": {"use_bias": False},
    "activation": {"activation": "relu"},
    "channels last": {"layout": "NHWC"},
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name):
    options = CONVOLUTIONS[name]
    first, last = (lambda F, x: F.transpose(x, (0, 2, 3, 1))), (lambda F, x: F.transpose(x, (0, 3, 1, 2)))
    around = options.get("layout") == "NHWC"
    net = small(*([nn.HybridLambda(first)] * around), nn.Conv2D(8, 3, **options), *([nn.HybridLambda(last)] * around))
    call_until_planned(net, nd.array(X))
    agree(net, nd.array(X))


class Attention(gluon.HybridBlock):
    """Attention over rows, as programs write it: with a mask for each word, or by MXNet's fused operators."""

    def __init__(self, units, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.parts = nn.HybridSequential()
        for _ in range(1 if fused else 3):
            self.parts.add(nn.Dense(3 * units if fused else units, flatten=False))
        self.out, self.norm, self.gelu = nn.Dense(units, flatten=False), nn.LayerNorm(), nn.GELU()

    def hybrid_forward(self, F, x, lengths):
        if self.fused:
            qkv = self.parts(F.transpose(x, (1, 0, 2)))
            weights = F.softmax(F.contrib.interleaved_matmul_selfatt_qk(qkv, heads=self.heads), axis=-1)
            h = F.contrib.interleaved_matmul_selfatt_valatt(qkv, weights, heads=self.heads)
            h = F.SequenceMask(h, lengths, use_sequence_length=True, value=0.5)
            return self.norm(x + self.gelu(self.out(F.transpose(h, (1, 0, 2)))))
        q, k, v = (
            F.reshape(F.transpose(F.reshape(part(x), (0, 0, self.heads, -1)), (0, 2, 1, 3)), (-1, 0, 0), reverse=True)
            for part in self.parts
        )
        scores = F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True)
        seen = F.broadcast_lesser(F.contrib.arange_like(scores, axis=2), F.repeat(lengths, self.heads).reshape((-1, 1)))
        scores = F.broadcast_add(scores, F.expand_dims((seen - 1) * 1e9, 1))
        h = F.batch_dot(F.softmax(scores, axis=-1), v).reshape((-1, self.heads, 0, 0), reverse=True)
        return self.norm(x + self.out(F.reshape(F.transpose(h, (0, 2, 1, 3)), (0, 0, -1))))


@pytest.mark.parametrize("fused", [False, True])
def test_attention_has_a_plan(fused):
    net = Attention(512, 4, fused)
    net.initialize(init.Xavier())
    random = np.random.RandomState(0)
    x, lengths = nd.array(random.randn(4, 16, 512)), nd.array([16, 3, 9, 1])
    net(x, lengths)
    randomize(net)
    net.hybridize()
    call_until_planned(net, x, lengths)
    (program, _), *_ = net._planner.plans.values()
    assert program.packed == (2 if fused else 4)
    agree(net, x, lengths)
    agree(net, nd.array(random.randn(4, 16, 512)), nd.array([5, 16, 2, 7]))


def test_layers_of_few_rows_or_small_matrices_have_no_plan():
    for units, rows in ((512, 8), (64, 64)):
        net = nn.HybridSequential()
        net.add(nn.Dense(units, in_units=units), nn.Dense(units, in_units=units))
        net.initialize(init.Xavier())
        net.hybridize()
        x = nd.ones((rows, units))
        for _ in range(2 * _plan._CALLS):
            net(x)
        assert not plans(net) and net._planner.refused


@pytest.mark.parametrize("layer, shape", [(nn.Conv1D, (2, 3, 9)), (nn.Conv3D, (1, 3, 5, 6, 5))])
def test_convolutions_over_other_numbers_of_axes_run_as_before(layer, shape):
    net = nn.HybridSequential()
    net.add(layer(4, 3, activation="relu"), layer(4, 3))
    net.initialize()
    net.hybridize()
    x = nd.random.normal(shape=shape)
    first = net(x).asnumpy()
    for _ in range(_plan._CALLS + 3):
        assert (net(x).asnumpy() == first).all()
    assert not plans(net)


class Branches(gluon.HybridBlock):
    """Additions of all kinds: to an input, to results that are read once or again, with and without relu."""

    def __init__(self):
        super().__init__()
        for name in "abcdef":
            setattr(self, name, nn.Conv2D(3, 3, padding=1, in_channels=3))
        self.norm = nn.BatchNorm(in_channels=3)

    def hybrid_forward(self, F, x):
        y = self.a(x) + x
        z = F.relu(self.norm(self.b(y)) + self.c(y))
        z = F.relu(z + self.d(z)) + z
        v = F.reshape(z, (0, 3, -1))
        w = F.clip(z + self.e(z), -0.3, 0.3)
        return [w, v, F.Dropout(self.f(w) + w), F.concat(y, self.d(x), dim=1), self.e(x) + self.e(x)]


def test_additions_to_convolutions():
    net = Branches()
    net.initialize()
    randomize(net)
    net.hybridize()
    x = nd.array(X)
    call_until_planned(net, x)
    first = agree(net, x)
    assert (x.asnumpy() == X).all()
    assert all((a == b).all() for a, b in zip(first, values(net(x)), strict=True))
    assert isinstance(net(x), list)


@pytest.mark.parametrize("viewed", ["flatten", "reshape"])
def test_a_sum_does_not_overwrite_what_a_view_shows(viewed):
    class Views(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2D(1, 3, in_channels=3), nn.Conv2D(1, 3, in_channels=3)

        def hybrid_forward(self, F, x):
            y = self.a(x)  # one channel: last or not, the memory is the same, so that no copy is needed
            view = F.flatten(y) if viewed == "flatten" else F.reshape(y, (0, -1))
            return view, y + self.b(x)

    net = Views()
    net.initialize()
    net.hybridize()
    call_until_planned(net, nd.array(X))
    agree(net, nd.array(X))


@pytest.mark.parametrize("name", ["flatten", "reshape"])
def test_results_share_no_memory_with_inputs(name):
    class Input(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2D(3, 1, in_channels=3), nn.Conv2D(3, 1, in_channels=3)

        def hybrid_forward(self, F, x):
            return self.b(self.a(x)), F.flatten(x) if name == "flatten" else F.reshape(x, (0, -1))

    net, x = Input(), nd.array(X)
    net.initialize()
    net.hybridize()
    for _ in range(_plan._CALLS + 3):
        net(x)[1][:] = 0
        assert (x.asnumpy() == X).all()


def test_several_inputs_and_nested_outputs():
    class Two(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2D(3, 1, in_channels=3), nn.Conv2D(3, 1, in_channels=3)

        def hybrid_forward(self, F, x, y):
            return self.a(x), (self.b(y), F.broadcast_add(x, y))

    net = Two()
    net.initialize()
    net.hybridize()
    x, y = nd.array(X), nd.array(X[:, ::-1])
    call_until_planned(net, x, y)
    a, (b, c) = net(x, y)
    assert plans(net) and net._planner.used == 1
    a2, (b2, c2) = Two.hybrid_forward(net, nd, x, y)
    for got, wanted in ((a, a2), (b, b2), (c, c2)):
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def test_values_that_are_not_finite_stay_visible():
    net = small(nn.Activation("relu"))
    call_until_planned(net, nd.array(X))
    x = nd.array(X)
    x[0, 0, 0, 0] = np.nan
    out = runs_without(net, x).asnumpy()
    assert np.isnan(out).any()
    agree(net, nd.array(X))
    net[0].weight.data()[0, 0, 0, 0] = np.nan
    for _ in range(2 * _plan._MOST_CALLS):
        out = net(nd.array(X)).asnumpy()
        assert np.isnan(out).any()
        if net._planner.refused:
            break
    assert not plans(net)


def test_sums_that_overflow_inside_stay_visible():
    """Infinite terms of both signs are NaN, of which a fused relu makes 0."""
    random.seed(0)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.Activation("relu"))
    net.add(*(nn.Conv2D(8, 3, padding=1, activation="relu") for _ in range(2)), nn.Activation("sigmoid"))
    net.initialize(init.Normal(1.0))
    x = np.random.RandomState(0).randn(2, 3, 8, 8).astype("float32")
    net(nd.array(x))
    net.hybridize()
    call_until_planned(net, nd.array(x))
    large = x.copy()
    large[0, 0, 3, 3] = 1e37
    large[1] *= 1e37
    expected = without_plan(net, nd.array(large))[0]
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(np.isnan(net(nd.array(large)).asnumpy()), np.isnan(expected))
    used = net._planner.used
    net(nd.array(x))
    assert net._planner.used == used + 1  # ordinary inputs run by the plan again


def test_a_program_with_other_results_is_not_used(monkeypatch):
    def wrong(heads, inputs, parameters):
        program, results = compiled(heads, inputs, parameters)
        return program, [y + 1e-3 * y.abs().max() for y in results]

    compiled = _plan.compiled
    monkeypatch.setattr(_plan, "compiled", wrong)
    net = small()
    for _ in range(3 * _plan._CALLS):
        net(nd.array(X))
    assert not plans(net)


def test_infinite_parameters_get_no_plan():
    net = small(nn.Activation("relu"))
    net[0].bias.data()[2] = -np.inf  # relu makes 0 of it
    for _ in range(3 * _plan._CALLS):
        assert np.isfinite(net(nd.array(X)).asnumpy()).all()
    assert not plans(net)


def test_results_are_contiguous_and_new():
    net = small()
    x = nd.array(X)
    call_until_planned(net, x)
    a, b = net(x), net(x)
    assert a.tensor.is_contiguous()
    before = b.asnumpy()
    a[:] = 0
    assert (b.asnumpy() == before).all() and (net(x).asnumpy() == before).all()


def test_a_generator_of_transposed_convolutions_has_a_plan():
    net = nn.HybridSequential()
    for channels in (24, 16):
        net.add(nn.Conv2DTranspose(channels, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.Conv2DTranspose(3, 4, 2, 1), nn.Activation("tanh"))
    net.initialize(init.Xavier())
    net.hybridize()
    x = nd.array(np.random.RandomState(0).rand(2, 32, 4, 4))
    call_until_planned(net, x)
    agree(net, x)


def test_outputs_are_nested_as_the_block_nests_them_now(monkeypatch):
    """An attribute decides how many outputs there are, and the block has been called with another value before."""
    monkeypatch.setattr(_plan, "_MOST_CALLS", _plan._CALLS)  # each plan after few calls

    class Outputs(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.body, self.kind = small(), 1

        def hybrid_forward(self, F, x):
            y = self.body(x)
            return [y + 1, (y * 1, [y + 3, y + 4, y + 5]), [y * 2, y - 1]][self.kind]

    net = Outputs()
    net.hybridize()
    for kind in (0, 1, 2, 0):
        net.kind = kind
        call_until_planned(net, nd.array(X))
        used = net._planner.used
        got, one = net(nd.array(X)), without_plan(net.body, nd.array(X))[0]
        assert net._planner.used == used + 1
        if kind == 0:
            expected, got = [one + 1], [got]
        elif kind == 1:
            assert isinstance(got, list) and isinstance(got[1], list)
            expected, got = [one, one + 3, one + 4, one + 5], [got[0], *got[1]]
        else:
            expected = [one * 2, one - 1]
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-4, atol=1e-5)
