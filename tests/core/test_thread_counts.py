"""One, two and three threads give the same bits, except in the torch reductions that `docs/reliability.md` names."""

import numpy as np
import pytest
import torch

from compatgrad.chainer import Variable
from compatgrad.chainer import functions as F

RNG = np.random.RandomState(0)
IMAGES = RNG.randn(16, 16, 32, 32).astype("f")
ROWS, OTHER = RNG.randn(512, 512).astype("f"), RNG.randn(512, 512).astype("f")
VECTOR = RNG.randn(300_003).astype("f")
FILTERS = RNG.randn(8, 16, 3, 3).astype("f")
LABELS = RNG.randint(0, 512, 512).astype("i")
CHANNELS = RNG.rand(16).astype("f")
IDS, TABLE = RNG.randint(0, 50, 50_000).astype("i"), RNG.randn(50, 32).astype("f")
SAME = {
    "sum along an axis": (lambda x: F.sum(x, axis=0), [ROWS]),
    "matmul": (F.matmul, [ROWS, OTHER]),
    "linear": (F.linear, [ROWS, OTHER, OTHER[0]]),
    "deconvolution": (lambda x, w: F.deconvolution_2d(x, w, pad=1), [IMAGES, FILTERS.transpose(1, 0, 2, 3).copy()]),
    "batch normalization": (F.batch_normalization, [IMAGES, CHANNELS, CHANNELS]),
    "softmax cross entropy": (lambda x: F.softmax_cross_entropy(x, LABELS), [ROWS]),
    "embedding": (lambda e: F.embed_id(IDS, e), [TABLE]),
    "max pooling": (lambda x: F.max_pooling_2d(x, 3, 1, 1), [IMAGES]),
    "average pooling": (lambda x: F.average_pooling_2d(x, 3, 1, 1), [IMAGES]),
    "log of a sum of exp": (F.logsumexp, [VECTOR]),
    "prelu": (F.prelu, [IMAGES, CHANNELS]),
    "resized images": (lambda x: F.resize_images(x, (50, 50)), [IMAGES]),
    "normalize": (F.normalize, [ROWS]),
    "lstm": (lambda c, x: F.lstm(c, x)[1], [ROWS[:, :128].copy(), OTHER]),
    "softmax": (F.softmax, [ROWS]),
    "exp": (F.exp, [VECTOR]),
    "erf": (F.erf, [VECTOR]),
}


def computed(f, arrays, threads):
    torch.set_num_threads(threads)
    xs = [Variable(a.copy()) for a in arrays]
    y = f(*xs)
    y.grad = np.linspace(0.1, 1, y.size).reshape(y.shape).astype("f")
    y.backward()
    return [y.array.copy(), *[x.grad.copy() for x in xs]]


@pytest.mark.parametrize("name", SAME)
def test_the_number_of_threads_changes_no_bit(name):
    before = torch.get_num_threads()
    try:
        one, *others = (computed(*SAME[name], threads) for threads in (1, 2, 3))
    finally:
        torch.set_num_threads(before)
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
