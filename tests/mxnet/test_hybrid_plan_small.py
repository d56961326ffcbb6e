"""Plans of small networks, whose convolutions also compute the layers around them."""

import threading

import numpy as np
import pytest
import torch

from compatgrad import _C
from compatgrad.mxnet import nd
from compatgrad.mxnet.gluon import _plan, nn
from tests.mxnet.hybrid_plans import agree, call_until_planned, planned, runs_without, without_plan

pytestmark = pytest.mark.skipif(
    not (_plan.fixed_layers.available() and _C.direct_fits()), reason="no oneDNN, or the processor has no AVX-512"
)
X = np.random.RandomState(0).randn(2, 8, 9, 12).astype("float32")


FUNCTIONS = {
    "sum of broadcast arrays": lambda F, x: F.broadcast_add(x, F.mean(x, axis=(2, 3), keepdims=True)),
    "style": lambda F, x: F.broadcast_div(x, F.sum(x**2, axis=1, keepdims=True) ** 0.5),
    "upsampling": lambda F, x: F.UpSampling(x, scale=2, sample_type="nearest"),
    "activations": lambda F, x: F.tanh(F.sigmoid(x) * 3 - 1) + F.LeakyReLU(x, act_type="elu", slope=0.5),
    "numbers": lambda F, x: F.broadcast_maximum(2 - x / 3, 1 / (x * x + 1)) + F.minimum(x, 0.25) - F.abs(-x),
    "norms": lambda F, x: F.L2Normalization(x, mode="channel") + F.LRN(x, nsize=3),
    "softmax": lambda F, x: (
        F.softmax(x, axis=1) + F.reshape(F.log_softmax(F.reshape(x, (0, 0, -1)), axis=-1), (0, 0, 9, 12))
    ),
    "resizing": lambda F, x: F.contrib.BilinearResize2D(x, height=5, width=20),
    "adaptive": lambda F, x: F.contrib.AdaptiveAvgPooling2D(x, output_size=(3, 2)),
    "products": lambda F, x: F.batch_dot(F.reshape(x, (0, 0, -1)), F.reshape(x, (0, 0, -1)), transpose_b=True),
}


class Residual(nn.HybridBlock):
    """Normalization, relu, convolution, twice, and a sum, as in residual networks of the second kind."""

    def __init__(self, kernel=3):
        super().__init__()
        self.parts = nn.HybridSequential()
        for _ in range(2):
            self.parts.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(8, kernel, padding=kernel // 2))
        self.proj = nn.HybridSequential()
        self.proj.add(nn.BatchNorm(), nn.Conv2D(8, 1))

    def hybrid_forward(self, F, x):
        return F.relu(self.proj(x) + self.parts(x))


def test_normalizations_before_convolutions_are_part_of_them():
    net = nn.HybridSequential()
    net.add(Residual(), Residual(1))
    assert len(planned(net, X).steps) == 6  # three convolutions each; the last one of them adds
    agree(net, nd.array(X))
    agree(net, nd.array(X[::-1] * 3))


def test_normalizations_that_others_read_or_that_groups_follow_are_steps():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.norm, self.last = nn.BatchNorm(), nn.BatchNorm()
            self.a, self.b = nn.Conv2D(8, 3, padding=1), nn.Conv2D(8, 3, padding=1, groups=8)

        def hybrid_forward(self, F, x):
            y = self.norm(x)
            return self.b(self.last(F.broadcast_add(self.a(y), y)))

    net = Net()
    assert len(planned(net, X).steps) == 5
    agree(net, nd.array(X))


@pytest.mark.parametrize("function", ["log", "sqrt"])
def test_relu_is_part_of_convolutions_of_values_that_may_be_nan(function):
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.body = nn.HybridSequential()
            self.body.add(nn.Conv2D(8, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.Activation("relu"))
            self.body.add(nn.Conv2D(8, 3, padding=1), nn.HybridLambda(lambda F, x: F.clip(x, 0, 6)))

        def hybrid_forward(self, F, x):
            return self.body(getattr(F, function)(x))

    net, x = Net(), np.abs(X) + 0.1
    assert len(planned(net, x).steps) == 3  # the function and two convolutions
    agree(net, nd.array(x))
    x[0, 3, 4, 5] = -1
    got, expected = net(nd.array(x)).asnumpy(), without_plan(net, nd.array(x))[0]
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))


def test_inputs_in_other_orders_of_memory():
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(2), Residual(), nn.AvgPool2D(2), nn.Conv2D(16, 1), nn.MaxPool2D(1))
    planned(net, X)
    expected = agree(net, nd.array(X))[0]
    for axes in ((2, 3, 0, 1), (0, 2, 3, 1), (3, 2, 1, 0)):
        t = torch.from_numpy(X.transpose(axes).copy()).permute(*np.argsort(axes).tolist())
        assert not t.is_contiguous()
        np.testing.assert_allclose(agree(net, nd.from_dlpack(t))[0], expected, rtol=1e-6, atol=1e-6)
    t = torch.from_numpy(np.repeat(X, 2, 3))[..., ::2]
    np.testing.assert_allclose(agree(net, nd.from_dlpack(t))[0], expected, rtol=1e-6, atol=1e-6)


def test_parameters_of_a_normalization_inside_a_convolution_change():
    net = Residual()
    planned(net, X)
    before = agree(net, nd.array(X))[0]
    for p in (net.parts[0].running_mean, net.proj[0].gamma):
        p.data()[:] = p.data() + 0.5
        assert np.abs(runs_without(net, nd.array(X)).asnumpy() - before).max() > 1e-3
        call_until_planned(net, nd.array(X))
        before = agree(net, nd.array(X))[0]


def test_an_exception_inside_a_plan_leaves_it_usable(monkeypatch):
    net = nn.HybridSequential()
    net.add(Residual(), nn.HybridLambda(lambda F, x: F.tile(x, (1, 1, 2, 1))), Residual())
    planned(net, X)
    used = net._planner.used
    from compatgrad.mxnet.symbol import _node_steps

    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(_node_steps, "run_node", interrupted)
        with pytest.raises(KeyboardInterrupt):
            net(nd.array(X))
    assert net._planner.used == used
    agree(net, nd.array(X))


def test_threads_with_different_inputs():
    net = nn.HybridSequential()
    net.add(Residual(), nn.HybridLambda(FUNCTIONS["style"]), Residual(1), nn.HybridLambda(FUNCTIONS["upsampling"]))
    planned(net, X)
    inputs = [nd.array(X * k) for k in (1, 2, 3)]
    wanted = [without_plan(net, x)[0] for x in inputs]
    wrong = []

    def work(k):
        for _ in range(100):
            if not np.allclose(net(inputs[k]).asnumpy(), wanted[k], rtol=1e-4, atol=1e-4):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and net._planner.used >= 250


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_engine_run_as_compiled_steps(name):
    net = nn.HybridSequential()
    net.add(Residual(), nn.HybridLambda(FUNCTIONS[name]))
    program = planned(net, X)
    assert all(type(function) is _C.Step for function, *_ in program.steps), program.steps
    expected = agree(net, nd.array(X))[0]
    agree(net, nd.array(np.abs(X) + 1))
    results = [net(nd.array(X)) for _ in range(3)]
    assert len({y.tensor.data_ptr() for y in results}) == 3
    results[0][:] = 0
    np.testing.assert_array_equal(net(nd.array(X)).asnumpy(), expected)


def test_a_batch_of_rows_after_images():
    """The layer reads the images as they lie in memory, channels last."""
    for x in (X, X[:1], np.concatenate([X] * 20)):
        net = nn.HybridSequential()
        net.add(nn.Conv2D(16, 3, activation="relu"), nn.Flatten(), nn.Dense(20, activation="relu"), nn.Dense(3))
        net.add(nn.HybridLambda(lambda F, x: F.concat(x, F.softmax(x), dim=1)), nn.Dense(5, flatten=False))
        net.add(nn.HybridLambda(lambda F, x: F.reshape(x, (-1, 5, 1, 1))), nn.Conv2D(3, 1))
        planned(net, x)
        agree(net, nd.array(x))
        agree(net, nd.array(2 * x))


@pytest.mark.parametrize("n", [1, 8])
def test_windows_in_the_padding_alone_do_not_end_the_process(n):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, (3, 1), padding=(1, 0)), nn.Conv2D(8, (3, 1), padding=(1, 0)))
    net.add(nn.Conv2D(2, 1, (1, 2), (1, 3), (2, 2), groups=2))
    x = np.random.RandomState(1).rand(n, 3, 2, 1).astype("float32")
    planned(net, x)
    agree(net, nd.array(x))
