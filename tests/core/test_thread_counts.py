"""One, two and three threads give the same bits, with torch's deterministic algorithms everywhere; without them not
where torch's kernels or its libraries depend on the number of threads (`docs/reliability.md`).
"""

import numpy as np
import pytest
import torch

from compatgrad import nnabla as nn
from compatgrad import ops
from compatgrad.chainer import Variable
from compatgrad.chainer import functions as F
from compatgrad.nnabla import functions as NF

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
# Functions whose bits depend on the number of threads: their kernels in torch, oneDNN or MKL.
WIDE, TALL = RNG.randn(10, 60_000).astype("f"), RNG.randn(60_000, 100).astype("f")
PLACES = RNG.randint(0, 1000, 200_000)
WELL = np.eye(400, dtype="f") * 30 + RNG.randn(400, 400).astype("f")
ORDERED = {
    "sum of all": (F.sum, [VECTOR]),
    "mean squared error": (F.mean_squared_error, [VECTOR, VECTOR[::-1].copy()]),
    "sigmoid": (F.sigmoid, [VECTOR]),
    "sinh": (F.sinh, [VECTOR]),
    "elu": (F.elu, [VECTOR]),
    "power": (lambda x: (x + 5) ** 1.7, [VECTOR]),
    "product of long rows": (F.matmul, [WIDE, TALL]),
    "convolution": (lambda x, w: F.convolution_2d(x, w, pad=1), [IMAGES, FILTERS]),
    "deconvolution": (lambda x, w: F.deconvolution_2d(x, w, pad=1), [IMAGES, FILTERS.transpose(1, 0, 2, 3).copy()]),
    "layer normalization": (F.layer_normalization, [ROWS, ROWS[0].copy(), ROWS[1].copy()]),
    "reading at many places": (lambda x: x[PLACES], [VECTOR]),
    "inverse": (F.inv, [WELL]),
    "transform": (lambda x, y: F.fft((x, y))[0], [VECTOR, VECTOR[::-1].copy()]),
}


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def computed(f, arrays, threads):
    torch.set_num_threads(threads)
    xs = [Variable(a.copy()) for a in arrays]
    y = f(*xs)
    y.grad = np.linspace(0.1, 1, y.size).reshape(y.shape).astype("f")
    y.backward()
    return [y.array.copy(), *[x.grad.copy() for x in xs]]


def compare(f, arrays):
    before = torch.get_num_threads()
    try:
        one, *others = (computed(f, arrays, threads) for threads in (1, 2, 3))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", SAME)
def test_the_number_of_threads_changes_no_bit(name):
    compare(*SAME[name])


@pytest.mark.parametrize("name", ["average pooling", "max pooling", "batch normalization"])
def test_threads_treat_subnormal_numbers_as_the_caller_does(name):
    f, arrays = SAME[name]
    small = [(a * 1e-40).astype("f") for a in arrays]
    before = torch.get_num_threads()
    try:
        computed(f, arrays, 2)  # torch's threads exist from now on
        kept = computed(f, small, 2)
        torch.set_flush_denormal(True)
        one, two = (computed(f, small, threads) for threads in (1, 2))
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.view("i4"), b.view("i4"))
    assert (kept[0].view("i4") != one[0].view("i4")).any()


@pytest.mark.parametrize("name", ORDERED)
def test_with_deterministic_algorithms_it_changes_none_at_all(name, deterministic):
    compare(*ORDERED[name])


@pytest.mark.parametrize("name", ["sum of all", "convolution", "inverse"])
def test_in_recorded_passes_too(name, deterministic):
    f, arrays = ORDERED[name]

    def second(f, arrays, threads):
        torch.set_num_threads(threads)
        xs = [Variable(a.copy()) for a in arrays]
        y = f(*xs)
        y.grad = np.linspace(0.1, 1, y.size).reshape(y.shape).astype("f")
        y.backward(enable_double_backprop=True)
        total = sum(F.sum(x.grad_var * x.grad_var) for x in xs)
        for x in xs:
            x.cleargrad()
        total.backward()
        return [total.array.copy(), *[x.grad.copy() for x in xs if x.grad is not None]]

    before = torch.get_num_threads()
    try:
        one, two = (second(f, arrays, threads) for threads in (1, 2))
    finally:
        torch.set_num_threads(before)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_in_graphs_of_nnabla_too(deterministic):
    def run(threads):
        torch.set_num_threads(threads)
        x, w = (nn.Variable.from_numpy_array(a, need_grad=True) for a in (IMAGES, FILTERS))
        y = NF.sum(NF.sigmoid(NF.convolution(x, w, pad=(1, 1))))
        y.forward()
        x.grad.zero()
        w.grad.zero()
        y.backward()
        return [y.d.copy(), x.g.copy(), w.g.copy()]

    before = torch.get_num_threads()
    try:
        one, *others = (run(threads) for threads in (1, 2, 3))
    finally:
        torch.set_num_threads(before)
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_error_leaves_the_number_of_threads(deterministic):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        with pytest.raises(Exception, match="size mismatch"):
            ops.matmul(Variable(ROWS), Variable(VECTOR[:7]))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
