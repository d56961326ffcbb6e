"""Stacked recurrent networks and the minimal gated unit against a step-by-step computation, in all dtypes."""

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad.chainer import gradient_check
from compatgrad.chainer.utils import type_check

UNITS, WIDTH = 3, 2
LENGTHS = {"same": [3, 3], "falling": [4, 3, 1], "runs": [5, 5, 2, 2, 1], "one": [1], "steps of one": [1, 1]}


def draw(random, *shape):
    return random.uniform(-1, 1, shape)


def lstm_step(w, b, x, h, c):
    i, f, a, o = (x @ w[k].T + h @ w[k + 4].T + b[k] + b[k + 4] for k in range(4))
    c = np.tanh(a) / (1 + np.exp(-i)) + c / (1 + np.exp(-f))
    return np.tanh(c) / (1 + np.exp(-o)), c


def gru_step(w, b, x, h, c):
    (rx, zx, nx), (rh, zh, nh) = ([v @ w[k + j].T + b[k + j] for j in range(3)] for k, v in ((0, x), (3, h)))
    r, z = 1 / (1 + np.exp(-rx - rh)), 1 / (1 + np.exp(-zx - zh))
    return (1 - z) * np.tanh(nx + r * nh) + z * h, c


def tanh_step(w, b, x, h, c):
    return np.tanh(x @ w[0].T + b[0] + h @ w[1].T + b[1]), c


KINDS = {"lstm": (lstm_step, 8, 2), "gru": (gru_step, 6, 1), "rnn": (tanh_step, 2, 1)}


def parameters(random, kind, layers, directions):
    n = KINDS[kind][1]
    ws, bs = [], []
    for layer in range(layers):
        width = WIDTH if layer == 0 else directions * UNITS
        for _ in range(directions):
            ws.append([draw(random, UNITS, width if k < n // 2 else UNITS) for k in range(n)])
            bs.append([draw(random, UNITS) for _ in range(n)])
    return ws, bs


def expected(kind, layers, directions, states, ws, bs, sequences):
    """Computes each sequence separately, step by step: the last states, and the outputs of each sequence."""
    step = KINDS[kind][0]
    last = [np.zeros_like(s) for s in states]
    results = []
    for n, xs in enumerate(sequences):
        for layer in range(layers):
            sides = []
            for d in range(directions):
                k = layer * directions + d
                h, c = states[0][k, n], states[-1][k, n]
                ys = []
                for x in xs[::-1] if d else xs:
                    h, c = step(ws[k], bs[k], x, h, c)
                    ys.append(h)
                for s, value in zip(last, (h, c), strict=False):
                    s[k, n] = value
                sides.append(ys[::-1] if d else ys)
            xs = [np.concatenate(pair) for pair in zip(*sides, strict=True)]
        results.append(np.stack(xs))
    return last, results


def run(kind, layers, directions, states, ws, bs, xs):
    name = f"n_step_{'bi' if directions == 2 else ''}{kind}"
    *last, ys = getattr(F, name)(layers, 0.0, *states, ws, bs, xs)
    return last, ys


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("layers", "directions"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_stacks_are_steps_one_after_the_other(kind, layers, directions, lengths):
    random = np.random.RandomState(1)
    sequences = [draw(random, n, WIDTH) for n in LENGTHS[lengths]]
    states = [draw(random, layers * directions, len(sequences), UNITS) for _ in range(KINDS[kind][2])]
    ws, bs = parameters(random, kind, layers, directions)
    exact_last, exact = expected(kind, layers, directions, states, ws, bs, sequences)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 1e-2)):

        def cast(values, dtype=dtype):
            return [cast(v) if isinstance(v, list) else v.astype(dtype) for v in values]

        xs = F.transpose_sequence(cast(sequences))
        last, ys = run(kind, layers, directions, cast(states), cast(ws), cast(bs), xs)
        for a, b in zip(last, exact_last, strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(a.array, b, rtol=tolerance, atol=tolerance)
        for a, b in zip(F.transpose_sequence(ys), exact, strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(a.array, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("lengths", ["falling", "runs"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_both_orders(kind, lengths):
    random = np.random.RandomState(2)
    states, (ws, bs) = KINDS[kind][2], parameters(random, kind, 1, 2)
    flat = [p for group in (*ws, *bs) for p in group]
    n = len(ws[0])
    steps = [sum(k > t for k in LENGTHS[lengths]) for t in range(LENGTHS[lengths][0])]
    given = [draw(random, 2, len(LENGTHS[lengths]), UNITS) for _ in range(states)]
    xs = [draw(random, batch, WIDTH) for batch in steps]

    def function(*inputs):
        first, rest, parts = inputs[:states], inputs[states : states + len(xs)], inputs[states + len(xs) :]
        groups = [list(parts[k : k + n]) for k in range(0, len(parts), n)]
        last, ys = run(kind, 1, 2, first, groups[:2], groups[2:], list(rest))
        return tuple(y * y for y in (*last, *ys))

    inputs = tuple([*given, *xs, *flat])
    gys = tuple(draw(random, *y.shape) for y in function(*map(chainer.Variable, inputs)))
    gradient_check.check_backward(function, inputs, gys, dtype=np.float64, rtol=1e-5, atol=1e-6)
    ggs = tuple(draw(random, *x.shape) for x in inputs)
    gradient_check.check_double_backward(function, inputs, gys, ggs, dtype=np.float64, rtol=1e-4, atol=1e-5)


def test_shapes_that_do_not_fit():
    random = np.random.RandomState(3)
    ws, bs = parameters(random, "lstm", 1, 1)
    xs = [draw(random, 2, WIDTH)]
    for h, c in (((1, 2, 4), (1, 2, 4)), ((1, 2, UNITS), (1, 2, 4)), ((1, 1, UNITS), (1, 1, UNITS))):
        with pytest.raises(type_check.InvalidType):
            F.n_step_lstm(1, 0.0, draw(random, *h), draw(random, *c), ws, bs, xs)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 1e-2)])
def test_minimal_gated_unit(dtype, tolerance):
    random = np.random.RandomState(4)
    link = L.StatelessMGU(WIDTH, UNITS)
    for p in link.params():
        p.array = draw(random, *p.shape).astype(dtype)
    h, x = draw(random, 5, UNITS), draw(random, 5, WIDTH)
    f = 1 / (1 + np.exp(-np.concatenate([h, x], 1) @ link.W_f.W.array.astype(float).T - link.W_f.b.array))
    n = np.tanh(np.concatenate([f * h, x], 1) @ link.W_h.W.array.astype(float).T + link.W_h.b.array)
    y = link(h.astype(dtype), x.astype(dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.array, f * n + (1 - f) * h, rtol=tolerance, atol=tolerance)
    if dtype is np.float64:
        gy, ggs = draw(random, 5, UNITS), (draw(random, 5, UNITS), draw(random, 5, WIDTH))
        gradient_check.check_double_backward(link, (h, x), gy, ggs, dtype=np.float64, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("children", [1, 2, 3, 4, 6])
def test_second_derivatives_of_trees(children):
    random = np.random.RandomState(5)
    cells = [draw(random, 2, UNITS) for _ in range(children)]
    inputs = (*cells, draw(random, 2, (3 + children) * UNITS))
    gys, ggs = (draw(random, 2, UNITS), draw(random, 2, UNITS)), tuple(draw(random, *x.shape) for x in inputs)
    gradient_check.check_double_backward(F.tree_lstm, inputs, gys, ggs, dtype=np.float64, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["NStepLSTM", "NStepBiLSTM", "NStepGRU", "NStepRNNTanh", "NStepBiRNNReLU"])
def test_gradients_of_biases_do_not_share_memory(kind):
    """A hook that writes into one gradient must not change another one; after clipping, the norm is the given one."""
    link = getattr(L, kind)(2, WIDTH, UNITS, 0.0)
    states = [None] * (2 if "LSTM" in kind else 1)
    xs = [np.ones((n, WIDTH), "f") for n in (3, 2)]
    link.cleargrads()
    F.sum(F.concat(link(*states, xs)[-1], axis=0) * 10).backward()
    grads = [p.grad for p in link.params()]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(grads) for b in grads[:i])
    optimizer = chainer.optimizers.SGD(1.0).setup(link)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1.0))
    optimizer.call_hooks()
    assert np.sqrt(sum((p.grad**2).sum() for p in link.params())) == pytest.approx(1, rel=1e-5)


def test_sequences_of_one_length_keep_their_order():
    """With AVX-512, NumPy's sort changes the order of equal numbers, so that dropout would draw other masks."""
    from compatgrad.chainer.links.rnn.n_step_rnn import argsort_list_descent

    lengths = [3, 7, 6, 8, 7, 7, 3, 8]
    order = argsort_list_descent([range(n) for n in lengths])
    assert order.dtype == np.int32 and order.tolist() == [3, 7, 1, 4, 5, 2, 0, 6]
    many = argsort_list_descent([range(n % 5) for n in range(200)])
    assert many.tolist() == sorted(range(200), key=lambda i: (-(i % 5), i))
