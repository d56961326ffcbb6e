"""The library of CUDA kernels: compiled by nvcc alone, and loaded when a kernel gets its first CUDA tensor.

It does not depend on torch, so one build serves every torch. If there is neither a build nor nvcc, ATen's operations
compute instead, and one warning says so.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compatgrad._build.compiler import compile_into, locked_cache, read_cached, read_json
from compatgrad._build.target import PACKAGE, BuildError, source_root
from compatgrad._build.units import Unit, alone

LIBRARY = "libcompatgrad_cuda.so"
SWITCH = "COMPATGRAD_CUDA_KERNELS"
# The driver compiles the PTX of the newest of these for newer GPUs when the library is loaded.
_ARCHITECTURES = ("arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90", "arch=compute_90,code=compute_90")
# --fmad=false: a formula gives the same results on a GPU as in the CPU loop, which is tested on every machine
# --threads=0: compiles the architectures of a file in parallel when the other files are done
# -compress-all: stores the machine code compressed to a tenth of its size; it is decompressed at loading
_FLAGS = (
    "-std=c++20 -O3 --fmad=false -DNDEBUG --threads=0 -Xfatbin -compress-all -Xcompiler -fPIC,-fvisibility=hidden"
).split()
_HOW = (
    "install the CUDA toolkit's nvcc (conda: `conda install -c nvidia cuda-nvcc cuda-cudart-dev`) "
    "and name it in CUDACXX unless it is on the PATH or below CUDA_HOME"
)


@cache
def find_nvcc() -> str | None:
    """nvcc's path: `$CUDACXX`, else nvcc of `$CUDA_HOME`, of the environment's packages, on the PATH, or in the usual
    folder.

    Raises BuildError if CUDACXX names a program that does not exist.
    """
    if named := os.environ.get("CUDACXX"):
        if path := shutil.which(named):
            return path
        raise BuildError(f"CUDACXX={named} is not a program; {_HOW}")
    homes = [Path(home) for name in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(name))]
    homes += sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/cu[0-9]*"), reverse=True)
    candidates = [*(str(home / "bin" / "nvcc") for home in homes), "nvcc", "/usr/local/cuda/bin/nvcc"]
    return next((path for name in candidates if (path := shutil.which(name))), None)


@cache
def nvcc_version(nvcc: str) -> str:
    """The version of nvcc, such as 13.0.88."""
    done = subprocess.run([nvcc, "--version"], capture_output=True, text=True)
    found = re.search(r"\bV(\d[\d.]*)", done.stdout)
    return found.group(1) if found else "unknown"


@dataclass(frozen=True)
class CudaStamp:
    """What a library was made from; stored beside it as JSON."""

    nvcc: str
    flags: str
    sources: str
    module: str = ""  # the file's SHA-256
    size: int = 0  # the file's number of bytes

    def __str__(self) -> str:
        return f"nvcc {self.nvcc}"


def _flags() -> list[str]:
    architectures = [word for arch in _ARCHITECTURES for word in ("-gencode", arch)]
    return [*_FLAGS, *architectures, *shlex.split(os.environ.get("CUDAFLAGS", ""))]


def sources_hash(root: Path) -> str:
    """A hash that changes with any file that a CUDA kernel may include."""
    digest = hashlib.sha256()
    for path in sorted((root / "csrc" / "kernels").glob("*.*")):
        if path.suffix in (".cu", ".cuh", ".h"):
            digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True)
class CudaTarget:
    """One build of the library, by an nvcc, from the sources below `root`."""

    nvcc: str
    root: Path
    prefix = None  # no header is precompiled

    def __str__(self) -> str:
        return f"CUDA, by nvcc {nvcc_version(self.nvcc)}"

    def units(self) -> list[Unit]:
        return alone([path.relative_to(self.root) for path in sorted((self.root / "csrc" / "kernels").glob("*.cu"))])

    def compile_command(self) -> list[str]:
        return [self.nvcc, *_flags(), "-Icsrc"]

    def link_command(self, objects: list[Path], out: Path) -> list[str]:
        return [self.nvcc, *_flags(), "-shared", *map(str, objects), "-o", str(out)]

    def file_name(self) -> str:
        return LIBRARY

    def stamp(self) -> CudaStamp:
        return CudaStamp(nvcc_version(self.nvcc), " ".join(_flags()), sources_hash(self.root))

    def object_folder(self) -> str:
        return f"cuda-{_digest(self.nvcc, *_flags())}-nvcc{nvcc_version(self.nvcc)}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:10]


def cuda_target(root: Path | None = None) -> CudaTarget | None:
    """The target for the installed nvcc; None without nvcc, or without sources."""
    root = root or source_root()
    nvcc = find_nvcc()
    target = CudaTarget(nvcc, root) if nvcc and root else None
    return target if target and target.units() else None


def _cache_key(root: Path) -> str:
    """The key of finished builds of these sources. It does not contain nvcc's version, because nvcc may be missing when
    a build is used again."""
    return f"cuda-{_digest(sources_hash(root), *_flags())}-nvcc"


def read_cuda_stamp(library: Path) -> CudaStamp | None:
    """What `library` was made from; None if it does not exist."""
    return read_json(library, CudaStamp)


def existing_library(cache: Path) -> Path | None:
    """The package's library or a cached one that was made from the current sources.

    Raises BuildError if another user may have made, or can change, a cached one.
    """
    root = source_root()
    if root is None:
        return None
    nvcc = find_nvcc()
    version = nvcc_version(nvcc) if nvcc else "*"
    stamp = read_cuda_stamp(library := PACKAGE / "_lib" / LIBRARY)
    if stamp and stamp.sources == sources_hash(root):
        return library
    for folder in sorted(cache.glob(_cache_key(root) + version)):
        stamp = read_cached(library := folder / LIBRARY, read_cuda_stamp, cache)
        if stamp and stamp.sources == sources_hash(root):
            return library
    return None


def _compiled_now(target: CudaTarget, cache: Path) -> Path:
    folder = cache / f"{_cache_key(target.root)}{nvcc_version(target.nvcc)}"
    with locked_cache(folder):
        return existing_library(cache) or compile_into(target, folder, "compiling the CUDA kernels, once")


def _without(why: str) -> None:
    text = f"{why}. ATen computes in place of compatgrad's CUDA kernels, with more passes over memory"
    warnings.warn(text, RuntimeWarning, stacklevel=3)


def find_library() -> str | None:
    """The path of the library, which is compiled if necessary; None, after a warning, if there is none. The engine
    calls this once."""
    from compatgrad._build.loader import cache_dir

    if os.environ.get(SWITCH) == "0":
        return None
    try:
        if library := existing_library(cache_dir()):
            return str(library)
        target = cuda_target()
        if target is None:
            _without(f"no nvcc found; to have them compiled, {_HOW}")
            return None
        return str(_compiled_now(target, cache_dir()))
    except (BuildError, OSError) as error:
        _without(f"the CUDA kernels cannot be compiled: {error}")
        return None


def report_unusable(library: str, error: str) -> None:
    """Warns that the library cannot be used on this machine."""
    _without(
        f"{library} does not run here ({error}): it needs a driver for its CUDA version and a GPU from sm_80 on; "
        f"compile it by another nvcc, or set {SWITCH}=0 to turn it off"
    )
