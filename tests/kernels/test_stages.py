"""Element-wise functions on parts of arrays (csrc/kernels/stages.h)."""

import ctypes

import pytest
import torch

from compatgrad._build.compiler import locked
from tests.kernels.conftest import compiled
from tests.kernels.places import CSRC, LOOPS
from tests.kernels.test_winograd import check_guard, guarded, pointer


@pytest.fixture(scope="session")
def library_path(shared_folder):
    path = shared_folder / "stages" / "kernels.so"
    with locked(path.with_name("lock")):
        if not path.exists():
            compiled(path, "-fno-math-errno", CSRC / "kernels" / "stages.cpp", LOOPS / "stages.cpp")
    return path


@pytest.mark.parametrize("without", [False, True])
@pytest.mark.parametrize("dtype", ["floats", "doubles"])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1023, 2048, 2049, 70_001])
def test_functions_are_computed_without_memory_too(library_path, n, dtype, without):
    """The functions have been taken from those that wait: an error would leave memory that nobody has written."""
    kind = torch.float32 if dtype == "floats" else torch.float64
    x = torch.randn(n, dtype=kind)
    y = guarded(x.shape) if kind == torch.float32 else torch.full_like(x, float("nan"))
    run = getattr(ctypes.CDLL(str(library_path)), f"chain_of_{dtype}")
    run.restype = ctypes.c_bool
    assert run(pointer(x), pointer(y), ctypes.c_int64(n), without) is not without
    h = x * 2 + 1
    assert torch.equal(y, h * h * h * x)
    if kind == torch.float32:
        check_guard(y)
