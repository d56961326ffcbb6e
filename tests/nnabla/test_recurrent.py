"""nnabla's recurrent functions: second derivatives, half precision, and comparison with a step-by-step computation."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.nnabla.ext_utils import get_extension_context

TIME, BATCH, WIDTH, UNITS = 3, 2, 2, 3
# name -> the gate axis of the weights, the rows of the biases, the number of states
KINDS = {"lstm": ((4,), (4,), 2), "gru": ((3,), (4,), 1), "rnn": ((), (), 1)}


def arrays(name, layers, directions, seed=0):
    gates, biases, states = KINDS[name]
    random = np.random.RandomState(seed)

    def draw(*shape):
        return random.uniform(-1, 1, shape).astype(np.float32)

    found = [draw(TIME, BATCH, WIDTH), *(draw(layers, directions, BATCH, UNITS) for _ in range(states))]
    found.append(draw(directions, *gates, UNITS, WIDTH + UNITS))
    if layers > 1:
        found.append(draw(layers - 1, directions, *gates, UNITS, directions * UNITS + UNITS))
    return [*found, draw(layers, directions, *biases, UNITS)]


def network(name, inputs, layers, directions):
    return getattr(F, name)(*inputs, num_layers=layers, bidirectional=directions == 2)


@pytest.mark.parametrize(("layers", "directions"), [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("name", KINDS)
def test_second_derivatives(name, layers, directions):
    given = arrays(name, layers, directions)
    random = np.random.RandomState(1)

    def penalty(values):
        xs = [nn.Variable.from_numpy_array(v).apply(need_grad=True) for v in values]
        ys = network(name, xs, layers, directions)
        gs = nn.grad([F.sum(y * y) for y in ys], xs)
        total = sum(F.sum(g * g) for g in gs)
        return xs, total

    xs, total = penalty(given)
    for x in xs:
        x.g = 0
    total.forward()
    total.backward()
    for k, x in enumerate(xs):  # the derivative in a random direction of each input
        way = random.uniform(-1, 1, x.shape).astype(np.float32)
        ends = []
        for step in (3e-3, -3e-3):
            moved = [v + step * way if j == k else v for j, v in enumerate(given)]
            _, y = penalty(moved)
            y.forward()
            ends.append(float(y.d))
        numeric = (ends[0] - ends[1]) / 6e-3
        assert float((x.g * way).sum()) == pytest.approx(numeric, rel=2e-2, abs=5e-2 + 1e-4 * abs(ends[0]))


@pytest.mark.parametrize("name", KINDS)
def test_half_precision(name):
    given = arrays(name, 2, 2)
    results = []
    for kind in ("float", "half"):
        with nn.context_scope(get_extension_context("cpu", type_config=kind)):
            xs = [nn.Variable.from_numpy_array(v).apply(need_grad=True) for v in given]
            for x in xs:
                x.g = 0
            ys = network(name, xs, 2, 2)
            loss = sum(F.sum(y) for y in ys)
            loss.forward()
            loss.backward()
            results.append([*(y.d.copy() for y in ys), *(x.g.copy() for x in xs)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-2)


def test_an_lstm_is_its_steps():
    x, h, c, w, b = arrays("lstm", 1, 1, seed=2)
    ys, last_h, last_c = F.lstm(*map(nn.Variable.from_numpy_array, (x, h, c, w, b)))
    F.sink(ys, last_h, last_c).forward()
    state, cell = h[0, 0], c[0, 0]
    for t in range(TIME):
        i, f, g, o = (np.concatenate([x[t], state], 1) @ w[0, k].T + b[0, 0, k] for k in range(4))
        cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        state = np.tanh(cell) / (1 + np.exp(-o))
        np.testing.assert_allclose(ys.d[t], state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last_h.d[0, 0], state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last_c.d[0, 0], cell, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_forward_and_backward_in_other_orders(name):
    """Backward uses what forward has recorded, or runs the network again."""
    xs = [nn.Variable.from_numpy_array(v).apply(need_grad=True) for v in arrays(name, 2, 2)]
    loss = F.sum(F.concatenate(*(F.reshape(y * y, (-1,)) for y in network(name, xs, 2, 2)), axis=0))

    def gradients(*steps):
        for x in xs:
            x.g = 0
        for step in steps:
            step()
        return [x.g.copy() for x in xs]

    expected = gradients(loss.forward, loss.backward)
    for steps, times in (
        ([loss.forward, loss.forward, loss.backward], 1),
        ([loss.forward, loss.backward, loss.backward], 2),
        ([loss.backward], 1),
        ([loss.forward, lambda: loss.backward(clear_buffer=True)], 1),
        ([lambda: loss.forward(clear_no_need_grad=True), loss.backward], 1),
    ):
        for g, e in zip(gradients(*steps), expected, strict=True):
            np.testing.assert_allclose(g, times * e, rtol=1e-4, atol=1e-5)
    xs[-2].d = weight = xs[-2].d * 2
    assert not np.allclose(gradients(loss.forward, loss.backward)[0], expected[0])
    xs[-2].d = weight / 2
    for g, e in zip(gradients(loss.forward, loss.backward), expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-5)
    xs[0].need_grad = False  # after the graph was built
    xs[0].g = 5
    for g, e in zip(gradients(loss.forward, loss.backward)[1:], expected[1:], strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-5)
