"""Compare first and second derivatives of an operator with finite differences, those by its head gradients included.

`check_gradients(lambda x, w: mx.nd.dot(x, w), A(2, 3), A(3, 4))` runs the call on float64 arrays. With L the sum of
all results times arbitrary head gradients h, it compares

- dL/dx of `autograd.grad` and of `backward` with differences of L,
- dD/dx and dD/dh with differences of D, where D is the sum of all elements of dL/dx times arbitrary numbers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd

STEP = 1e-5


def A(*shape: int, low: float = -1.0, high: float = 1.0, seed: int = 0) -> np.ndarray:
    """Distinct float64 numbers spread over (low, high) in random order: no ties, none at 0."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    grid = (rng.permutation(n) + rng.uniform(0.3, 0.7, n)) / max(n, 1)
    return (low + (high - low) * grid).reshape(shape)


def as_list(ys: Any) -> list:
    return list(ys) if isinstance(ys, (list, tuple)) else [ys]


def array(a: np.ndarray) -> mx.nd.NDArray:
    return mx.nd.array(a, dtype=np.asarray(a).dtype)


def differences(f: Callable[..., float], arrays: Sequence[np.ndarray], i: int, step: float) -> np.ndarray:
    """df/d(arrays[i]), element by element, by central differences."""
    result = np.zeros_like(arrays[i])
    for k in np.ndindex(*arrays[i].shape):
        ends = []
        for move in (step, -step):
            moved = [a.copy() for a in arrays]
            moved[i][k] += move
            ends.append(f(*moved))
        result[k] = (ends[0] - ends[1]) / (2 * step)
    return result


def close(got: mx.nd.NDArray, expected: np.ndarray, what: str, tol: float) -> None:
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    np.testing.assert_allclose(got.asnumpy(), expected, rtol=tol, atol=tol, err_msg=what)


def check_gradients(
    call: Callable,
    *arrays: np.ndarray,
    wrt: Sequence[int] | None = None,
    train: bool = True,
    second: bool = True,
    step: float = STEP,
    tol: float = 2e-5,
    outputs: Sequence[int] | None = None,
) -> None:
    """Compare the derivatives of `call` as the module's docstring says. It takes NDArrays and returns one or a list.

    wrt: the inputs to differentiate by (default: all of floating dtype; others are passed on as they are).
    outputs: which of the results are differentiable (default: all).
    train: whether the call runs in training mode. second: whether to check the second derivative too.
    Random operators must be seeded inside `call`.
    """
    arrays = [np.array(a, "float64") if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in arrays]
    wrt = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"] if wrt is None else list(wrt)
    rng = np.random.default_rng(5)

    def run(values: Sequence[np.ndarray], marked: bool) -> tuple[list, list]:
        xs = [array(a) for a in values]
        if marked:
            for i in wrt:
                xs[i].attach_grad()
        with autograd.record(train_mode=train) if marked else autograd.pause(train_mode=train):
            ys = as_list(call(*xs))
        return xs, ys if outputs is None else [ys[j] for j in outputs]

    heads = [rng.standard_normal(y.shape) for y in run(arrays, False)[1]]
    weights = [rng.standard_normal(arrays[i].shape) for i in wrt]
    n = len(arrays)

    def value(*values: np.ndarray) -> float:
        _, ys = run(values[:n], False)
        return sum(float((y.asnumpy() * h).sum()) for y, h in zip(ys, values[n:], strict=True))

    def slopes(*values: np.ndarray, record: bool = False) -> tuple[list, list, list]:
        xs, ys = run(values[:n], True)
        hs = [array(h) for h in values[n:]]
        for h in hs:
            h.attach_grad()
        with autograd.record(train_mode=train):
            gs = autograd.grad(
                ys, [xs[i] for i in wrt], head_grads=hs, create_graph=record, retain_graph=record, train_mode=train
            )
        return [xs[i] for i in wrt], hs, gs

    def slope(*values: np.ndarray) -> float:
        gs = slopes(*values)[2]
        return sum(float((g.asnumpy() * w).sum()) for g, w in zip(gs, weights, strict=True))

    everything = [*arrays, *heads]
    firsts = [differences(value, everything, i, step) for i in wrt]
    xs, ys = run(arrays, True)
    autograd.backward(ys, head_grads=[array(h) for h in heads], train_mode=train)
    for i, expected in zip(wrt, firsts, strict=True):
        assert xs[i].grad.dtype == np.float64
        close(xs[i].grad, expected, f"backward, input {i}", tol)
    xs, hs, gs = slopes(*everything, record=True)
    for i, g, expected in zip(wrt, gs, firsts, strict=True):
        close(g, expected, f"first derivative, input {i}", tol)
    if not second:
        return
    with autograd.record(train_mode=train):
        total = sum((g * array(w)).sum() for g, w in zip(gs, weights, strict=True))
        # grad() refuses variables that `total` does not depend on; adding 0 * v gives them a gradient of zeros
        total = total + sum((0 * v).sum() for v in (*xs, *hs))
    seconds = autograd.grad(total, [*xs, *hs], train_mode=train)
    for i, g in zip(wrt, seconds, strict=False):
        close(g, differences(slope, everything, i, step), f"second derivative, input {i}", tol)
    for j, g in enumerate(seconds[len(wrt) :]):
        close(g, differences(slope, everything, n + j, step), f"derivative by head gradient {j}", tol)
