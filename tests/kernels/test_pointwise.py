"""Convolutions with filters of one pixel or along one axis (csrc/kernels/pointwise.h), against double precision."""

import ctypes

import pytest
import torch
from torch.nn.grad import conv1d_input, conv1d_weight

from compatgrad._build.compiler import locked
from tests.kernels.conftest import compiled
from tests.kernels.places import CSRC, LOOPS
from tests.kernels.test_winograd import check_guard, close, guarded, pointer

# images, channels in and out, pixels of the result
SIZES = [
    (16, 32, 16, 1024),
    (16, 40, 24, 4),  # several images in a vector
    (3, 17, 9, 49),  # images that end within a vector; a block of rows that is computed twice
    (2, 16, 96, 5),  # fewer columns than a panel
    (1, 8, 8, 17),
    (40, 20, 30, 1),
    (7, 100, 41, 196),
    (5, 600, 33, 30),  # several parts of the channels, where the filters are turned
    (2, 33, 600, 64),
    (1, 300, 40, 2100),  # several parts of the columns
]
# taps, padding, dilation
FILTERS = [(1, 0, 1), (1, 2, 1), (2, 0, 1), (2, 5, 9), (3, 1, 1), (3, 40, 33)]
pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() != "AVX512", reason="the processor has no AVX-512"
)


@pytest.fixture(scope="session")
def library_path(shared_folder):
    path = shared_folder / "pointwise" / "kernels.so"
    with locked(path.with_name("lock")):
        if not path.exists():
            files = CSRC / "kernels" / "pointwise.cpp", LOOPS / "pointwise.cpp", LOOPS / "threads.cpp"
            compiled(path, "-fno-math-errno", *files)
    return path


@pytest.fixture
def kernels(library_path, monkeypatch):
    monkeypatch.setenv("KERNEL_LEVEL", "4")
    return ctypes.CDLL(str(library_path))


def sizes_of(*sizes):
    return (ctypes.c_int64 * len(sizes))(*sizes)


# The loops in the place of threads start more often than there are threads, so that there must be memory for each.
MANY = 64


def multiply(kernels, x, w, pad=0, dilate=1, turned=False, bias=None, y=None, threads=MANY):
    """The convolution of x with w; `turned`: the gradient of the image of the convolution with this padding."""
    n, channels, image = x.shape
    taps = w.shape[2]
    out, places = w.shape[0], image + 2 * pad - dilate * (taps - 1)
    shift, step = -pad, dilate
    if turned:
        out, places, shift, step = w.shape[1], 2 * image - places, pad, -dilate
    room = guarded((n, out, places)) if y is None else y
    sizes = sizes_of(n, channels, out, places, image, taps, shift, step)
    kernels.multiply(sizes, pointer(x), pointer(w), turned, pointer(bias), pointer(room), threads)
    if y is None:
        check_guard(room)
    return room


def filter_grad(kernels, x, gy, taps=1, pad=0, dilate=1):
    gw = guarded((gy.shape[1], x.shape[1], taps))
    sizes = sizes_of(*x.shape[:2], *gy.shape[1:], x.shape[2], taps, -pad, dilate)
    kernels.filter_grad(sizes, pointer(x), pointer(gy), pointer(gw))
    check_guard(gw)
    return gw


@pytest.mark.parametrize("taps, pad, dilate", FILTERS)
@pytest.mark.parametrize("n, channels, out, places", SIZES)
def test_against_double_precision(kernels, n, channels, out, places, taps, pad, dilate):
    image = places - 2 * pad + dilate * (taps - 1)
    if image < 1:
        image, places = 1, 1 + 2 * pad - dilate * (taps - 1)
    if places < 1:
        pytest.skip("the filter does not fit into the image")
    torch.manual_seed(0)
    x, w, bias = torch.randn(n, channels, image), torch.randn(out, channels, taps), torch.randn(out)
    gy = torch.randn(n, out, places)
    exact = torch.conv1d(x.double(), w.double(), None, padding=pad, dilation=dilate)
    close(multiply(kernels, x, w, pad, dilate, bias=bias), exact + bias.double().view(-1, 1), taps * channels)
    close(multiply(kernels, x, w, pad, dilate), exact, taps * channels)
    exact = conv1d_input(x.shape, w.double(), gy.double(), padding=pad, dilation=dilate)
    close(multiply(kernels, gy, w, pad, dilate, turned=True), exact, taps * out)
    exact = conv1d_weight(x.double(), w.shape, gy.double(), padding=pad, dilation=dilate)
    close(filter_grad(kernels, x, gy, taps, pad, dilate), exact, n * places)


@pytest.mark.parametrize("taps", [1, 3])
@pytest.mark.parametrize("n, channels, out, places", SIZES)
def test_few_parts_are_divided_among_threads(kernels, n, channels, out, places, taps):
    torch.manual_seed(1)
    x, bias = torch.randn(n, channels, places), torch.randn(out)
    for turned in (False, True):
        w = torch.randn(channels, out, taps) if turned else torch.randn(out, channels, taps)
        expected = multiply(kernels, x, w, taps // 2, turned=turned, bias=bias)
        assert torch.equal(multiply(kernels, x, w, taps // 2, turned=turned, bias=bias, threads=1 << 10), expected)


@pytest.mark.parametrize("n, channels, places", [(4, 16, 64), (6, 48, 9), (1, 300, 40)])
@pytest.mark.parametrize("threads", [MANY, 1 << 10])
def test_result_over_the_images(kernels, n, channels, places, threads):
    torch.manual_seed(2)
    x, w = torch.randn(n, channels, places), torch.randn(channels, channels, 1)
    expected = multiply(kernels, x, w, turned=True)
    assert torch.equal(multiply(kernels, x, w, turned=True, y=x, threads=threads), expected)


def test_not_a_number_reaches_the_columns_below_the_filter(kernels):
    torch.manual_seed(3)
    x = torch.randn(3, 16, 9)
    for w, reached in ((torch.randn(24, 16, 1), [8]), (torch.randn(24, 16, 2), [6, 8])):
        clean = multiply(kernels, x, w, 1 if len(reached) == 2 else 0, 2)
        dirty = x.clone()
        dirty[1, 5, 7 if len(reached) == 2 else 8] = torch.nan
        y = multiply(kernels, dirty, w, 1 if len(reached) == 2 else 0, 2)
        assert bool(y[1, :, reached].isnan().all())
        y[1, :, reached] = clean[1, :, reached]
        assert torch.equal(y, clean)
