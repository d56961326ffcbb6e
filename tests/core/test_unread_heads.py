"""Attention of short sequences, whose scores wait only where no gradient is recorded, and are computed in lanes."""

import numpy as np
import pytest
import torch

from compatgrad import _C, chainer
from compatgrad.chainer import functions as F

LANES = torch.backends.cpu.get_cpu_capability() == "AVX512"
pytestmark = pytest.mark.skipif(not LANES, reason="needs AVX-512")


def arrays(n=64, m=64, depth=16, batch=2, heads=8, dtype="f", seed=0):
    random = np.random.RandomState(seed)
    shapes = [(batch, heads, rows, depth) for rows in (n, m, m)]
    return [random.randn(*s).astype(dtype) for s in shapes]


def attention(q, k, v, mask=None, seen=lambda s: s, scale=0.3):
    scores = seen(F.matmul(q, k, transb=True))
    scores = seen(scores * scale)
    if mask is not None:
        scores = seen(scores + mask)
    weights = seen(F.softmax(scores, axis=3))
    return F.matmul(weights, v), weights


def look(y):
    assert y.array is not None
    return y


def both(given, mask=None, scale=0.3):
    """The results of a program that reads nothing in between, and of one that reads every array."""
    with chainer.no_backprop_mode():
        xs = [chainer.Variable(x) for x in given]
        late, weights = attention(*xs, mask, scale=scale)
        assert _C.is_unread(weights)
        early, read = attention(*xs, mask, look, scale)
    np.testing.assert_array_equal(weights.array, read.array)
    return late.array, early.array


@pytest.mark.parametrize("n, m, depth", [(64, 64, 32), (128, 128, 64), (33, 65, 16), (100, 37, 16), (512, 9, 16)])
@pytest.mark.parametrize("shape", [None, (1, 1), (1, 0), (0, 1), (2, 1, 1, 1), (2, 8, 1, 1)])
def test_values(n, m, depth, shape):
    q, k, v = arrays(n, m, depth)
    mask = None
    if shape:
        sizes = (*shape[:-2], n if shape[-2] else 1, m if shape[-1] else 1)
        mask = np.random.RandomState(1).randn(*sizes).astype("f")
    late, early = both((q, k, v), mask)
    np.testing.assert_allclose(late, early, rtol=0, atol=3e-6 * abs(early).max())


def test_parts_of_one_array_and_turned_keys():
    x = np.random.RandomState(0).randn(2, 64, 3, 8, 16).astype("f")
    with chainer.no_backprop_mode():
        q, k, v = F.transpose(chainer.Variable(x), (2, 0, 3, 1, 4))
        late, weights = attention(q, k, v)
        expected, _ = attention(*(chainer.Variable(np.ascontiguousarray(a.array)) for a in (q, k, v)), seen=look)
        turned = F.matmul(q, F.transpose(k, (0, 1, 3, 2)))
        assert _C.is_unread(weights) and _C.is_unread(turned)
        np.testing.assert_allclose(late.array, expected.array, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(turned.array, F.matmul(q, k, transb=True).array)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("scale", [0.3, 0, float("nan"), float("inf")])
def test_numbers_that_are_not_finite(value, scale):
    q, k, v = arrays()
    q[0, 1, 5, 3] = k[1, 2, 7, 1] = v[1, 3, 9, 2] = value
    mask = np.zeros((64, 64), "f")
    mask[11] = mask[12, 3] = value
    with np.errstate(all="ignore"):
        late, early = both((q, k, v), mask, scale)
    np.testing.assert_array_equal(np.isnan(late), np.isnan(early))
    np.testing.assert_allclose(np.nan_to_num(late), np.nan_to_num(early), rtol=1e-4, atol=1e-5)


def test_values_whose_sum_overflows():
    q, k, v = arrays()
    v[...] = 3e38
    late, early = both((q, k, v))
    assert np.isfinite(late).all()
    np.testing.assert_allclose(late, early, rtol=1e-5)


def test_a_program_writes_into_its_arrays_meanwhile():
    given, mask = arrays(), np.random.RandomState(1).randn(64, 64).astype("f")
    expected, _ = both(given, mask)
    with chainer.no_backprop_mode():
        q, k, v = map(chainer.Variable, given)
        scores = F.matmul(q, k, transb=True) * 0.3
        q.array[...] = k.array[...] = 7
        scores += mask
        mask[...] = 7
        np.testing.assert_array_equal(F.matmul(F.softmax(scores, axis=3), v).array, expected)


def test_where_scores_do_not_wait():
    def waits(given, **options):
        q, k, _ = (chainer.Variable(x, **options) for x in given)
        return _C.is_unread(F.matmul(q, k, transb=True))

    given = arrays()
    assert not waits(given)  # a gradient is recorded
    assert waits(given, requires_grad=False)
    with chainer.no_backprop_mode():
        assert waits(given)
        assert not waits([x.astype("d") for x in given])
        assert not waits(arrays(n=16, m=16))  # few
        assert not waits(arrays(n=16, m=64, depth=64))  # most of the time would go into copies
        q, k, _ = map(chainer.Variable, given)
        assert not _C.is_unread(F.matmul(q, chainer.Variable(given[1].swapaxes(2, 3).copy())))


def test_gradients_are_those_of_the_functions():
    """Few scores of arrays that need no gradient, multiplied by values that need one."""
    q, k, v = arrays()
    gy = np.random.RandomState(1).randn(*v.shape).astype("f")
    results = []
    for seen in (lambda s: s, look):
        constants = [chainer.Variable(x, requires_grad=False) for x in (q, k)]
        value = chainer.Variable(v)
        y, _ = attention(*constants, value, seen=seen)
        y.grad = gy
        y.backward()
        results.append(value.grad)
    np.testing.assert_allclose(*results, rtol=0, atol=1e-5)


def test_threads_change_no_bit():
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(both(arrays(100, 70), np.random.RandomState(1).randn(100, 70).astype("f"))[0])
    finally:
        torch.set_num_threads(before)
    for r in results[1:]:
        np.testing.assert_array_equal(r, results[0])
