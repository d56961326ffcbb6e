"""Chainer's gradient functions (such as LSTMGrad), which programs may apply, and recurrent networks with a custom
cell."""

import importlib

import numpy as np
import pytest

from tests.chainer.subject import F, chainer

check_backward = importlib.import_module(f"{chainer.__name__}.gradient_check").check_backward
RNN = f"{chainer.__name__}.functions.rnn"
lstm = importlib.import_module(f"{RNN}.lstm")
slstm = importlib.import_module(f"{RNN}.slstm")
n_step_rnn = importlib.import_module(f"{RNN}.n_step_rnn")
n_step_lstm = importlib.import_module(f"{RNN}.n_step_lstm")
n_step_gru = importlib.import_module(f"{RNN}.n_step_gru")
FUNCTIONS = f"{chainer.__name__}.functions"


def draw(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape)


def gradients(outputs, inputs, seeds):
    return [g.array for g in chainer.grad(outputs, inputs, [chainer.Variable(s) for s in seeds])]


@pytest.mark.parametrize("rows", [3, 2])
def test_lstm(rows):
    c, x = chainer.Variable(draw(3, 2)), chainer.Variable(draw(rows, 8, seed=1))
    gc, gh = draw(3, 2, seed=2), draw(rows, 2, seed=3)
    c_next, h = F.lstm(c, x)
    expected = gradients([c_next, h], [c, x], [gc, gh])
    found = lstm.LSTMGrad()(c, x, c_next, chainer.Variable(gc), chainer.Variable(gh))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.array, b, rtol=1e-10)
    inputs = [v.array for v in (c, x, c_next)] + [gc, gh]
    check_backward(lambda *a: lstm.LSTMGrad()(*a), inputs, [draw(3, 2, seed=4), draw(rows, 8, seed=5)], dtype="d")


def test_slstm():
    c1, c2, x1, x2 = (chainer.Variable(draw(2, n, seed=n + i)) for i, n in enumerate((2, 2, 8, 8)))
    gc, gh = draw(2, 2, seed=20), draw(2, 2, seed=30)
    c_next, h = F.slstm(c1, c2, x1, x2)
    expected = gradients([c_next, h], [c1, c2, x1, x2], [gc, gh])
    found = slstm.SLSTMGrad()(c1, c2, x1, x2, c_next, chainer.Variable(gc), chainer.Variable(gh))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.array, b, rtol=1e-10)


def test_elementwise():
    grads = [
        ("relu", "ReLUGrad2", F.relu, lambda cls, x, y: cls(y.array), False),
        ("sigmoid", "SigmoidGrad", F.sigmoid, lambda cls, x, y: cls((x.array,)), True),
        ("tanh", "TanhGrad", F.tanh, lambda cls, x, y: cls(x.array), True),
    ]
    for module, name, forward, make, takes_y in grads:
        cls = getattr(importlib.import_module(f"{FUNCTIONS}.activation.{module}"), name)
        x, gy = chainer.Variable(draw(4)), chainer.Variable(draw(4, seed=1))
        y = forward(x)
        (gx,) = make(cls, x, y).apply((y, gy) if takes_y else (gy,))
        np.testing.assert_allclose(gx.array, gradients([y], [x], [gy.array])[0], rtol=1e-10)
        inputs = (y.array, gy.array) if takes_y else (gy.array,)
        check_backward(lambda *a: make(cls, x, y).apply(a), inputs, draw(4, seed=2), dtype="d")  # noqa: B023


def test_linear():
    linear = importlib.import_module(f"{FUNCTIONS}.connection.linear")
    x, W, gy = draw(3, 2), draw(4, 2, seed=1).astype("f"), draw(3, 4, seed=2)
    np.testing.assert_allclose(linear.LinearGradData().apply((W, gy))[0].array, gy @ W, rtol=1e-6)
    (gW,) = linear.LinearGradWeight(W.dtype).apply((x, gy))
    assert gW.dtype == np.float32
    np.testing.assert_allclose(gW.array, gy.T @ x, rtol=1e-6)


def test_division_by_the_standard_deviation():
    cls = importlib.import_module(f"{FUNCTIONS}.normalization.group_normalization")._MulInvStd
    x, y = draw(2, 5), draw(2, 5, seed=1)
    inv_std = (x.var(axis=1) + 0.1) ** -0.5

    def f(x, y):
        return cls(0.1, x.array.mean(axis=1), (x.array.var(axis=1) + 0.1) ** -0.5, None).apply((x, y))

    np.testing.assert_allclose(f(chainer.Variable(x), y)[0].array, inv_std[:, None] * y)
    check_backward(f, (x, y), draw(2, 5, seed=2), dtype="d")


def weights(n, layers, size=3):
    rng = np.random.RandomState(0)
    make = lambda *shape: rng.uniform(-1, 1, shape).astype("f")  # noqa: E731
    ws = [[make(size, size) for _ in range(n)] for _ in range(layers)]
    return ws, [[make(size) for _ in range(n)] for _ in range(layers)]


@pytest.mark.parametrize("both", [False, True])
def test_a_network_of_cells(both):
    # two layers; sequences of 3, 2 and 2 steps, as n_step_lstm takes them
    xs = [draw(n, 3, seed=n + i).astype("f") for i, n in enumerate((3, 3, 1))]
    direction = 2 if both else 1
    ws, bs = weights(8, direction)
    hx, cx = draw(direction, 3, 3).astype("f"), draw(direction, 3, 3, seed=9).astype("f")
    expected = (F.n_step_bilstm if both else F.n_step_lstm)(1, 0.0, hx, cx, ws, bs, xs)
    found = n_step_rnn.n_step_rnn_impl(n_step_lstm._lstm, 1, 0.0, hx, cx, ws, bs, xs, both)
    for a, b in zip([*found[:2], *found[2]], [*expected[:2], *expected[2]], strict=True):
        np.testing.assert_allclose(a.array, b.array, rtol=1e-4, atol=1e-6)
    ws, bs = weights(6, direction)
    hy, ys = (F.n_step_bigru if both else F.n_step_gru)(1, 0.0, hx, ws, bs, xs)
    found = n_step_rnn.n_step_rnn_impl(n_step_gru._gru, 1, 0.0, hx, None, ws, bs, xs, both)
    assert found[1] is None
    for a, b in zip([found[0], *found[2]], [hy, *ys], strict=True):
        np.testing.assert_allclose(a.array, b.array, rtol=1e-4, atol=1e-6)
