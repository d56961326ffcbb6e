"""Convolutions by fewer multiplications (csrc/kernels/winograd.h) on each instruction set, against double precision."""

import ctypes

import numpy as np
import pytest
import torch
from torch.nn.grad import conv2d_input, conv2d_weight

from compatgrad._build.compiler import locked
from tests.kernels.conftest import compiled
from tests.kernels.places import CSRC, LOOPS

LEVELS = {"AVX2": 3, "AVX512": 4}
CAPABLE = {"AVX2": 3, "AVX512": 4}.get(torch.backends.cpu.get_cpu_capability(), 0)
# images, channels in and out, height, width, padding
SIZES = [
    (2, 16, 16, 8, 8, (1, 1)),
    (3, 17, 33, 7, 9, (1, 1)),  # odd sizes, and channels that leave parts of blocks empty
    (1, 20, 16, 12, 15, (0, 0)),
    (4, 64, 48, 5, 5, (2, 2)),
    (2, 32, 64, 33, 30, (1, 0)),
    (16, 16, 16, 4, 4, (0, 1)),
    (32, 16, 20, 2, 2, (1, 1)),  # images smaller than a tile
    (5, 40, 24, 1, 64, (1, 1)),
    (1, 16, 16, 64, 1, (2, 1)),
    (3, 160, 16, 40, 40, (1, 1)),  # several parts
    (2, 256, 137, 8, 9, (1, 1)),  # several groups of output channels
    (16, 256, 256, 8, 8, (1, 1)),  # two parts of several groups
]
pytestmark = pytest.mark.skipif(not CAPABLE, reason="the processor has no AVX2")


@pytest.fixture(scope="session")
def library_path(shared_folder):
    path = shared_folder / "winograd" / "kernels.so"
    with locked(path.with_name("lock")):
        if not path.exists():
            files = CSRC / "kernels" / "winograd.cpp", LOOPS / "winograd.cpp", LOOPS / "threads.cpp"
            compiled(path, "-fno-math-errno", *files)
    return path


@pytest.fixture(params=LEVELS)
def kernels(request, library_path, monkeypatch):
    if LEVELS[request.param] > CAPABLE:
        pytest.skip(f"the processor has no {request.param}")
    library = ctypes.CDLL(str(library_path))
    monkeypatch.setenv("KERNEL_LEVEL", str(LEVELS[request.param]))
    return library


def pointer(t):
    return ctypes.c_void_p(t.data_ptr() if t is not None else None)


def convolve(kernels, x, w, pad, turned=False, bias=None, y=None):
    channels = w.shape[1] if turned else w.shape[0]
    height, width = (n + 2 * p - 2 for n, p in zip(x.shape[2:], pad, strict=True))
    room = y if y is not None else guarded((x.shape[0], channels, height, width))
    sizes = np.array([*x.shape[:2], channels, *x.shape[2:], *pad], np.int64)
    kernels.convolve(
        sizes.ctypes.data_as(ctypes.c_void_p), pointer(x), pointer(w), turned, pointer(bias), pointer(room)
    )
    if y is None:
        check_guard(room)
    return room


def filter_grad(kernels, x, gy, pad):
    gw = guarded((gy.shape[1], x.shape[1], 3, 3))
    sizes = np.array([*x.shape[:2], gy.shape[1], *x.shape[2:], *pad], np.int64)
    kernels.filter_grad(sizes.ctypes.data_as(ctypes.c_void_p), pointer(x), pointer(gy), pointer(gw))
    check_guard(gw)
    return gw


def guarded(shape):
    """An array of NaN between numbers that must not change."""
    n = int(np.prod(shape))
    memory = torch.full((n + 64,), 7.0)
    memory[32:-32] = torch.nan
    return memory[32:-32].view(shape)


def check_guard(t):
    memory = torch.as_strided(t, (t.numel() + 64,), (1,), 0)
    assert bool((memory[:32] == 7).all() and (memory[-32:] == 7).all())


def close(found, exact, terms):
    """Within the rounding of a sum of `terms` products of about one."""
    error = float((found.double() - exact).abs().max())
    assert error <= 4 * np.finfo(np.float32).eps * (terms**0.5) * max(1.0, float(exact.abs().max()) / 4), error


@pytest.mark.parametrize("n, channels, out, height, width, pad", SIZES)
def test_against_double_precision(kernels, n, channels, out, height, width, pad):
    torch.manual_seed(0)
    x, w, bias = torch.randn(n, channels, height, width), torch.randn(out, channels, 3, 3), torch.randn(out)
    exact = torch.conv2d(x.double(), w.double(), bias.double(), padding=pad)
    gy = torch.randn(exact.shape)
    close(convolve(kernels, x, w, pad, bias=bias), exact, 9 * channels)
    close(convolve(kernels, x, w, pad), exact - bias.double().view(-1, 1, 1), 9 * channels)
    turned = 2 - pad[0], 2 - pad[1]
    exact = conv2d_input(x.shape, w.double(), gy.double(), padding=pad)
    close(convolve(kernels, gy, w, turned, turned=True), exact, 9 * out)
    exact = conv2d_weight(x.double(), w.shape, gy.double(), padding=pad)
    close(filter_grad(kernels, x, gy, pad), exact, n * height * width)


@pytest.mark.parametrize("n, channels, size", [(4, 16, 8), (6, 48, 24), (1, 20, 40), (16, 256, 8)])
def test_result_over_the_images(kernels, n, channels, size):
    torch.manual_seed(1)
    x, w = torch.randn(n, channels, size, size), torch.randn(channels, channels, 3, 3)
    expected = convolve(kernels, x, w, (1, 1))
    assert torch.equal(convolve(kernels, x, w, (1, 1), y=x), expected)


def test_only_the_numbers_below_the_filter_count(kernels):
    # a NaN, or a number that absorbs all others, elsewhere in a tile
    torch.manual_seed(2)
    x, w = torch.randn(2, 16, 12, 12), torch.randn(16, 16, 3, 3)
    clean = convolve(kernels, x, w, (1, 1))
    for row, column in [(4, 4), (4, 5), (5, 4), (5, 5), (0, 0), (11, 11), (11, 0)]:
        reached = torch.zeros(2, 1, 12, 12, dtype=torch.bool)
        reached[1, 0, max(0, row - 1) : row + 2, max(0, column - 1) : column + 2] = True
        for bad in (torch.nan, 1e30, torch.inf):
            dirty = x.clone()
            dirty[1, 3, row, column] = bad
            y = convolve(kernels, dirty, w, (1, 1))
            assert torch.equal(y.masked_fill(reached, 0), clean.masked_fill(reached, 0))
            assert bad == 1e30 or not bool((y.isfinite() & reached).any())


def test_zeros_stay_zeros(kernels):
    # below a region of zeros ReLU's derivative is that at zero, not that at a rounding error
    torch.manual_seed(3)
    x, w = torch.randn(1, 16, 20, 20), torch.randn(16, 16, 3, 3)
    x[:, :, 5:15, 6:15] = 0
    y = convolve(kernels, x, w, (1, 1))
    assert bool((y[:, :, 6:14, 7:14] == 0).all())
