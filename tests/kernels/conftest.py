"""Where kernels run in tests: as CPU loops, as the CUDA launcher compiled for the CPU, and on a GPU."""

import os
import shutil
import subprocess

import pytest
import torch

from compatgrad import _C
from compatgrad._build.cuda import find_nvcc
from compatgrad._build.target import find_compiler, source_root
from tests.kernels.places import Place


@pytest.fixture(scope="session")
def simulated_library(tmp_path_factory) -> str:
    """The CUDA launcher by a C++ compiler: blocks and threads run one after the other."""
    root = source_root()
    path = tmp_path_factory.mktemp("simulated") / "kernels.so"
    files = sorted(map(str, (root / "csrc/kernels").glob("*.cu")))
    flags = [
        "-std=c++20",
        "-O1",
        "-fno-strict-aliasing",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        f"-I{root / 'csrc'}",
    ]
    done = subprocess.run([*find_compiler(), *flags, "-x", "c++", *files, "-o", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return str(path)


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
