"""Convolutions with filters of one pixel (csrc/kernels/pointwise.h), against double precision."""

import ctypes

import pytest
import torch

from compatgrad._build.compiler import locked
from tests.kernels.conftest import compiled
from tests.kernels.places import CSRC, LOOPS
from tests.kernels.test_winograd import check_guard, close, guarded, pointer

# images, channels in and out, pixels
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


def multiply(kernels, x, w, turned=False, bias=None, y=None, threads=MANY):
    n, channels, places = x.shape
    out = w.shape[1] if turned else w.shape[0]
    room = guarded((n, out, places)) if y is None else y
    kernels.multiply(
        sizes_of(n, channels, out, places), pointer(x), pointer(w), turned, pointer(bias), pointer(room), threads
    )
    if y is None:
        check_guard(room)
    return room


def filter_grad(kernels, x, gy):
    gw = guarded((gy.shape[1], x.shape[1]))
    kernels.filter_grad(sizes_of(*x.shape[:2], gy.shape[1], x.shape[2]), pointer(x), pointer(gy), pointer(gw))
    check_guard(gw)
    return gw


@pytest.mark.parametrize("n, channels, out, places", SIZES)
def test_against_double_precision(kernels, n, channels, out, places):
    torch.manual_seed(0)
    x, w, bias = torch.randn(n, channels, places), torch.randn(out, channels), torch.randn(out)
    gy = torch.randn(n, out, places)
    exact = torch.einsum("oc,ncp->nop", w.double(), x.double())
    close(multiply(kernels, x, w, bias=bias), exact + bias.double().view(-1, 1), channels)
    close(multiply(kernels, x, w), exact, channels)
    exact = torch.einsum("oc,nop->ncp", w.double(), gy.double())
    close(multiply(kernels, gy, w, turned=True), exact, out)
    exact = torch.einsum("ncp,nop->oc", x.double(), gy.double())
    close(filter_grad(kernels, x, gy), exact, n * places)


@pytest.mark.parametrize("n, channels, out, places", SIZES)
def test_few_parts_are_divided_among_threads(kernels, n, channels, out, places):
    torch.manual_seed(1)
    x, w, bias = torch.randn(n, channels, places), torch.randn(out, channels), torch.randn(out)
    for turned in (False, True):
        filters = w.t().contiguous() if turned else w
        expected = multiply(kernels, x, filters, turned, bias)
        assert torch.equal(multiply(kernels, x, filters, turned, bias, threads=1 << 10), expected)


@pytest.mark.parametrize("n, channels, places", [(4, 16, 64), (6, 48, 9), (1, 300, 40)])
@pytest.mark.parametrize("threads", [MANY, 1 << 10])
def test_result_over_the_images(kernels, n, channels, places, threads):
    torch.manual_seed(2)
    x, w = torch.randn(n, channels, places), torch.randn(channels, channels)
    expected = multiply(kernels, x, w, turned=True)
    assert torch.equal(multiply(kernels, x, w, turned=True, y=x, threads=threads), expected)


def test_not_a_number_reaches_its_column_alone(kernels):
    torch.manual_seed(3)
    x, w = torch.randn(3, 16, 9), torch.randn(24, 16)
    clean = multiply(kernels, x, w)
    x[1, 5, 8] = torch.nan
    y = multiply(kernels, x, w)
    assert bool(y[1, :, 8].isnan().all())
    y[1, :, 8] = clean[1, :, 8]
    assert torch.equal(y, clean)
