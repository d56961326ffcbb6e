"""Comparisons of graphs with networks whose rounding errors carry far, and with networks that really differ."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad import interop
from compatgrad.exporting._noise import doubled, noisy


def mean_of(y):
    return F.broadcast_to(F.mean(y, axis=0, keepdims=True), y.shape)


BADLY_CONDITIONED = {
    "a sum that cancels": lambda a, b, x: F.sum((a(x) - F.broadcast_to(F.mean(a(x)), a(x).shape)) * 1e4),
    "differences from means": lambda a, b, x: F.sum((a(x) - mean_of(a(x))) * 1e6),
    "a sharp softmax": lambda a, b, x: F.softmax(1e4 * b(x)),
    "a small variance": lambda a, b, x: F.mean((b(x) * 1e-3 + 100) ** 2) - F.mean(b(x) * 1e-3 + 100) ** 2,
    "normalized rounding errors": lambda a, b, x: F.normalize(b(x) - mean_of(b(x) + 1000) + 1000, eps=1e-8),
    "a long product": lambda a, b, x: F.prod(3 * a(a(a(x)) * 10) + 1),
}
# Each takes a number from the values of parameters, which the graph then contains.
WRONG = {
    "a factor": lambda a, b, x: b(x) * float(np.abs(b.W.array).sum()),
    "a small addend": lambda a, b, x: b(x) + 1e-3 * float(1 + np.abs(b.W.array).sum()),
    "beside a sum that cancels": lambda a, b, x: (
        F.sum((a(x) - F.broadcast_to(F.mean(a(x)), a(x).shape)) * 1e4) + float(np.abs(a.W.array).sum()) * F.sum(x)
    ),
    "in a softmax": lambda a, b, x: F.softmax(10 * b(x) * float(np.abs(b.W.array).mean())),
}


def network(seed):
    rng = np.random.RandomState(seed)
    with chainer.using_config("dtype", np.float32):
        net = chainer.Chain(
            a=L.Linear(16, 16, initialW=rng.randn(16, 16).astype("f") / 4),
            b=L.Linear(16, 4, initialW=rng.randn(4, 16).astype("f") / 4),
        )
    return net, rng.rand(8, 16).astype("f")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BADLY_CONDITIONED)
def test_rounding_errors_are_no_difference(name, seed):
    net, x = network(seed)
    f = BADLY_CONDITIONED[name]
    g = interop.compile(lambda x: f(net.a, net.b, x), parameters=net, frontend="chainer", backend="eager")
    net.cleargrads()
    F.sum(g(x)).backward()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", WRONG)
def test_values_that_were_read_are_a_difference(name, seed):
    net, x = network(seed)
    f = WRONG[name]
    with pytest.raises(interop.ExportError, match=r"differs .* by more than rounding errors.*check=False"):
        interop.compile(lambda x: f(net.a, net.b, x), parameters=net, frontend="chainer", backend="eager")(x)


def test_a_stopped_gradient_is_a_difference_beside_a_sum_that_cancels():
    net, x = network(0)

    def f(x):
        h = net.a(x)
        y = F.tanh(h)
        h.unchain_backward()
        return F.sum(y) + BADLY_CONDITIONED["a sum that cancels"](net.a, net.b, x)

    g = interop.compile(f, parameters=net, frontend="chainer", backend="eager")
    with pytest.raises(interop.ExportError, match="the gradient of .* is not that of the function's calls"):
        g(x).backward()


def test_the_comparison_can_be_left_out():
    net, x = network(0)
    f = WRONG["a factor"]
    before = float(np.abs(net.b.W.array).sum())
    g = interop.compile(lambda x: f(net.a, net.b, x), parameters=net, frontend="chainer", backend="eager", check=False)
    np.testing.assert_allclose(g(x).array, f(net.a, net.b, chainer.Variable(x)).array, rtol=1e-5)
    net.b.W.array[...] *= 2
    np.testing.assert_allclose(g(x).array, net.b(x).array * before, rtol=1e-5)


def test_a_graph_in_float64_and_with_rounding_errors():
    net, x = network(0)
    x = torch.from_numpy(x)
    gm = interop.export(lambda x: F.sum(net.b(x) * np.float32(3), axis=1), (x,), parameters=net, frontend="chainer")
    exact = doubled(gm)(x.double())
    w, b = (torch.from_numpy(p.array).double() for p in (net.b.W, net.b.b))
    torch.testing.assert_close(exact, ((x.double() @ w.T + b) * 3).sum(1), rtol=1e-14, atol=1e-14)
    assert gm(x).dtype == torch.float32 and all(p.dtype == torch.float32 for p in gm.parameters())
    noise = noisy(gm, torch.Generator().manual_seed(0))
    runs = torch.stack([noise(x) for _ in range(8)])
    spread = (runs - exact.float()).abs().max() / exact.abs().max()
    assert 1e-8 < spread < 1e-5 and len(runs.unique(dim=0)) > 1
