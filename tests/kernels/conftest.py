"""Where kernels run in tests: as CPU loops, as the CUDA launcher compiled for the CPU, and on a GPU."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from compatgrad import _C
from compatgrad._build.cuda import find_nvcc
from compatgrad._build.target import find_compiler
from tests.kernels.places import CSRC, FORMS, Place


def compiled(path: Path, *arguments: str | Path) -> str:
    """A library from .cu files, by a C++ compiler: blocks and threads run one after the other."""
    flags = ["-std=c++20", "-O1", "-fno-strict-aliasing", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{CSRC}"]
    command = [*find_compiler(), *flags, "-x", "c++", *map(str, arguments), "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return str(path)


@pytest.fixture(scope="session")
def simulated_library(tmp_path_factory) -> str:
    """All CUDA kernels."""
    path = tmp_path_factory.mktemp("simulated") / "kernels.so"
    return compiled(path, *sorted((CSRC / "kernels").glob("*.cu")))


@pytest.fixture(scope="session")
def forms_libraries(tmp_path_factory) -> dict[str, str]:
    """A kernel of each form, in the launcher and as CPU loops."""
    folder, files = tmp_path_factory.mktemp("forms"), (FORMS, CSRC / "kernels/library.cu")
    return {
        "launcher": compiled(folder / "launcher.so", *files),
        "loops": compiled(folder / "loops.so", "-fno-math-errno", "-DON_CPU", *files),
    }


@pytest.fixture(params=["cpu", "simulated", pytest.param("cuda", marks=pytest.mark.cuda)])
def place(request) -> Place:
    if request.param == "simulated":
        return Place("simulated", "cpu", request.getfixturevalue("simulated_library"))
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
        if _C.kernels_library() is None and os.environ.get("COMPATGRAD_CUDA_KERNELS") == "0":
            pytest.skip("COMPATGRAD_CUDA_KERNELS=0")
    return Place(request.param, request.param)


@pytest.fixture
def nvcc() -> str:
    path = find_nvcc()
    if path is None or shutil.which(path) is None:
        pytest.skip("there is no nvcc")
    return path
