"""Work that threads take as they are free gives the same bits, whichever thread does which part of it."""

import numpy as np
import pytest
import torch

from compatgrad import chainer
from compatgrad.chainer import functions as F

RNG = np.random.RandomState(0)
BIAS = RNG.randn(1000).astype("f")
X, W = RNG.randn(301, 1100).astype("f"), RNG.randn(1000, 1100).astype("f")
TALL, NARROW = RNG.randn(1001, 96).astype("f"), RNG.randn(100, 96).astype("f")
LONG = RNG.randn(700_003).astype("f")
Q, K, V = RNG.randn(3, 6, 100, 32).astype("f")


def layer(x, w, b):
    return F.linear(x, w, b)


def waiting(x):
    y = x * 1  # an array that the program does not see
    return 0.5 * y * (1 + F.erf(y * 0.5**0.5))


def attention(q, k, v):
    return F.matmul(F.softmax(F.matmul(q, k, transb=True) * 0.2, axis=2), v)


CASES = {
    "columns of all rows": (layer, [X, W, BIAS]),
    "columns of some rows": (layer, [TALL, NARROW, BIAS[:100]]),
    "functions that wait": (waiting, [LONG]),
    "attention": (attention, [Q, K, V]),
}


def compare(name, counts):
    f, arrays = CASES[name]
    before = torch.get_num_threads()
    try:
        with chainer.no_backprop_mode():
            torch.set_num_threads(1)
            one = f(*arrays).array.copy()
            for threads in counts:
                torch.set_num_threads(threads)
                # the memory that results get: with the last results in it, work that nobody does would not be noticed
                used = [torch.full(one.shape, torch.nan) for _ in range(8)]
                del used
                np.testing.assert_array_equal(f(*arrays).array, one)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", CASES)
def test_any_distribution_gives_the_same_bits(name):
    # more threads than cores: some of them are late, and others take what those have left
    compare(name, [2, 3, 7] * 5)


def test_more_threads_than_shares():
    compare("functions that wait", [80])
