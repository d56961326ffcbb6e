"""mx.np: lists as arguments, decompositions, gradients of random draws, boolean arithmetic, errors."""

import numpy as np
import pytest

from compatgrad.mxnet import MXNetError, autograd, nd, npx
from compatgrad.mxnet import np as mxnp

A = np.random.default_rng(0).standard_normal((2, 3))


@pytest.fixture(autouse=True)
def numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


def slopes(f, *arrays):
    """Gradients of the sum of the squares of a result, by autograd and by finite differences."""
    xs = [mxnp.array(a) for a in arrays]
    for x in xs:
        x.attach_grad()
    with autograd.record():
        y = f(*xs)
        loss = sum((mxnp.square(v)).sum() for v in (y if isinstance(y, (list, tuple)) else [y]))
    loss.backward()

    def value(values):
        found = f(*(mxnp.array(v) for v in values))
        return sum(float((v.asnumpy() ** 2).sum()) for v in (found if isinstance(found, (list, tuple)) else [found]))

    for i, x in enumerate(xs):
        expected = np.zeros_like(arrays[i])
        for k in np.ndindex(*arrays[i].shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[i][k] += step
                ends.append(value(moved))
            expected[k] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5, atol=1e-6)


V = np.array([1.0, 2.0, 0.5])
DIFFERENTIABLE = [
    (lambda x: mxnp.linalg.svd(x)[1] * mxnp.array([1.0, 2.0]), A),
    (lambda x: mxnp.linalg.norm(x, ord="nuc", axis=(0, 1)) * mxnp.linalg.norm(x, ord=2, axis=(0, 1)), A),
    (lambda x: mxnp.linalg.tensorinv(x, ind=1) + 0, A[:, :2] + 2 * np.eye(2)),
    (lambda a, b: mxnp.linalg.tensorsolve(a, b), (A[:, :2] + 2 * np.eye(2)), V[:2]),
    (mxnp.polyval, V, A),
    (lambda x, y: mxnp.ediff1d(x, to_end=y, to_begin=3.0), A, V),
    (lambda x: mxnp.diagflat(x, k=-1), A),
    (lambda x, v: mxnp.insert(x, 1, v, axis=1), A, V[:2]),
    (lambda x, v: mxnp.insert(x, [0, 2], v, axis=1), A, A[:, :2]),
    (lambda x: mxnp.delete(x, mxnp.array([0, 7], dtype="int64"), axis=1), A),
    (lambda w: mxnp.bincount(mxnp.array([1, 3, 1], dtype="int32"), w, 5), V),
    (lambda x, y: mxnp.ldexp(x, y), A, A[::-1].copy()),
    (lambda x: mxnp.copysign(x, mxnp.array(-A)) * x, A),
    (lambda x: mxnp.einsum("..., ...", x[0, 0], x), A),
    (lambda x: mxnp.nan_to_num(x) + mxnp.tril(x[0]), A[:1]),
]


@pytest.mark.parametrize("k", range(len(DIFFERENTIABLE)))
def test_derivatives(k):
    slopes(*DIFFERENTIABLE[k])


@pytest.mark.parametrize("name, params, slope", [
    ("normal", (1.0, 2.0), lambda y, m, s: (1, (y - m) / s)),
    ("logistic", (1.0, 2.0), lambda y, m, s: (1, (y - m) / s)),
    ("gumbel", (1.0, 2.0), lambda y, m, s: (1, (y - m) / s)),
    ("exponential", (2.0,), lambda y, s: (y / s,)),
    ("rayleigh", (2.0,), lambda y, s: (y / s,)),
    ("weibull", (2.0,), lambda y, a: (-y * np.log(y) / a,)),
    ("pareto", (2.0,), lambda y, a: (-(y + 1) * np.log(y + 1) / a,)),
    ("lognormal", (0.5, 2.0), lambda y, m, s: (y, y * (np.log(y) - m) / s)),
])  # fmt: skip
def test_gradients_of_random_draws(name, params, slope):
    xs = [mxnp.full((50,), p) for p in params]
    for x in xs:
        x.attach_grad()
    with autograd.record():
        y = getattr(mxnp.random, name)(*xs)
    y.backward()
    assert y.shape == (50,)
    for x, g in zip(xs, slope(y.asnumpy().astype("float64"), *params), strict=True):
        np.testing.assert_allclose(x.grad.asnumpy(), np.broadcast_to(g, (50,)), rtol=2e-3, atol=1e-4)


def test_booleans_in_arithmetic():
    a, b = mxnp.array([True, False, True], dtype=bool), mxnp.array([True, True, False], dtype=bool)
    for y, expected in ((a + b, [True, True, True]), (a * b, [True, False, False]), (a + 1, [2, 1, 2])):
        assert y.tolist() == expected and y.dtype == (bool if expected[0] is True else np.int64)
    assert a.sum().dtype == np.int64 and a.sum() == 2
    with pytest.raises(MXNetError, match="not supported for two arrays of booleans"):
        a - b


def test_values_and_errors():
    x = mxnp.array([np.inf, 1.0])
    assert mxnp.nan_to_num(x, copy=False, posinf=5.0) is x and x.tolist() == [5, 1]
    w = mxnp.array([np.nan, 1.0])
    w.attach_grad()
    with autograd.record():
        y = mxnp.nan_to_num(w, copy=False)
    y.backward()
    assert y.tolist() == w.grad.tolist() == [0, 1] and np.isnan(w.tolist()[0])
    u, s, v = mxnp.linalg.svd(mxnp.array(A))
    np.testing.assert_allclose((u * s @ v).asnumpy(), A, rtol=1e-9)
    assert mxnp.mean(mxnp.array([1, 2, 4], dtype="int8"), dtype="int8").dtype == np.int8
    assert mxnp.transpose(mxnp.ones((2, 3)), ()).shape == (3, 2) and mxnp.broadcast_to(1.0, (2,)).tolist() == [1, 1]
    assert npx.nonzero(mxnp.array(0.0)).shape == (0, 1) and npx.slice(mxnp.ones(3), [], [], None).shape == (3,)
    assert mxnp.random.multivariate_normal(mxnp.zeros((3, 2)), mxnp.eye(2)).shape == (3, 2)
    mask = mxnp.array([True, False], dtype=bool)
    assert mxnp._internal.boolean_mask_assign_scalar(x, mask, 9, start_axis=0, out=x) is x and x.tolist() == [9, 1]
    assert bool(npx.constraint_check(mask | True, "none")) is True
    for kind, call in (
        (ValueError, lambda: npx.constraint_check(mask, "violated")),
        (ValueError, lambda: mxnp.random.gamma(1.0, -1.0)), (ValueError, lambda: npx.random.bernoulli(prob=-1)),
        (ValueError, lambda: mxnp.random.weibull(0.0)), (ValueError, lambda: mxnp.transpose(mxnp.ones((2, 2)), (0, 0))),
        (MXNetError, lambda: mxnp.eye(-1)), (MXNetError, lambda: mxnp.trace(mxnp.ones((2, 2)), axis1=0, axis2=-2)),
        (MXNetError, lambda: mxnp.argmax(mxnp.ones(3), axis=1)), (TypeError, lambda: mxnp.isnan(x, out=x)),
        (NotImplementedError, lambda: mxnp.lcm(mxnp.array([2], dtype="int32"), 2, where=False)),
        (MXNetError, lambda: mxnp.linalg.svd(mxnp.ones((3, 2)))), (MXNetError, lambda: mxnp.linalg.tensorinv(x, ind=0)),
    ):  # fmt: skip
        with pytest.raises(kind):
            call()
            nd.waitall()
