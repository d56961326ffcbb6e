"""Where kernels run in tests: as CPU loops, as the CUDA launcher compiled for the CPU, and on a GPU."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from compatgrad import _C
from compatgrad._build.compiler import locked
from compatgrad._build.cuda import find_nvcc
from compatgrad._build.target import find_compiler
from tests.kernels.places import CSRC, FORMS, LOOPS, SANITIZER, Place


def compiled(path: Path, *arguments: str | Path) -> str:
    """A library from .cu files, by a C++ compiler: blocks and threads run one after the other."""
    flags = ["-std=c++20", "-O1", "-fno-strict-aliasing", "-fPIC", "-fvisibility=hidden"]
    if SANITIZER == "address":
        flags += "-g1 -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined".split()
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    options = [a for a in map(str, arguments) if a.startswith("-")]
    sources = [a for a in map(str, arguments) if not a.startswith("-")]

    def run(*command: str) -> None:
        command = (*flags, *options, f"-I{CSRC}", *command)
        done = subprocess.run([*find_compiler(), *command], env=plain, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]

    objects = [f"{path}.{k}.o" for k in range(len(sources))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda one: run("-x", "c++", "-c", one[0], "-o", one[1]), zip(sources, objects, strict=True)))
    run("-shared", *objects, "-o", str(path))
    return str(path)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory) -> Path:
    """One folder for all processes that share the tests."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder


@pytest.fixture(scope="session")
def simulated_library(shared_folder) -> str:
    """All CUDA kernels."""
    path = shared_folder / "simulated" / "kernels.so"
    with locked(path.with_name("lock")):
        return str(path) if path.exists() else compiled(path, *sorted((CSRC / "kernels").glob("*.cu")))


@pytest.fixture(scope="session")
def loops_library(shared_folder) -> str:
    """All kernels as CPU loops, on the plain level."""
    path = shared_folder / "loops" / "kernels.so"
    with locked(path.with_name("lock")):
        files = (*sorted((CSRC / "kernels").glob("*.cu")), LOOPS / "threads.cpp")
        return str(path) if path.exists() else compiled(path, f"-I{LOOPS}", "-U__gnu_linux__", *files)


@pytest.fixture(scope="session")
def forms_libraries(shared_folder) -> dict[str, str]:
    """A kernel of each form, in the launcher and as CPU loops."""
    folder, files = shared_folder / "forms", (FORMS, CSRC / "kernels/library.cu")
    with locked(folder / "lock"):
        launcher, loops = folder / "launcher.so", folder / "loops.so"
        if not loops.exists():
            compiled(launcher, *files)
            compiled(loops, "-fno-math-errno", f"-I{LOOPS}", *files, LOOPS / "threads.cpp")
    return {"launcher": str(launcher), "loops": str(loops)}


_CUDA = pytest.param("cuda", marks=pytest.mark.cuda)
_PLACES = {"": ["cpu", "simulated", _CUDA], "address": ["loops", "simulated"], "cuda": [_CUDA]}


@pytest.fixture(params=_PLACES[SANITIZER])
def place(request) -> Place:
    if request.param in ("simulated", "loops"):
        return Place(request.param, "cpu", request.getfixturevalue(f"{request.param}_library"))
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
