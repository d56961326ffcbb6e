"""The library of CUDA kernels: compiled by nvcc alone, and found when the first CUDA tensor meets a kernel.

It knows nothing of torch, so one build serves every torch. Where there is neither a build nor nvcc, the same work is
done by ATen's operations, which is said once.
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

LIBRARY = "libcompatgrad_cuda.so"
SWITCH = "COMPATGRAD_CUDA_KERNELS"
# PTX of the newest of these runs on what comes after it, compiled by the driver when it is loaded.
_ARCHITECTURES = ("arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90", "arch=compute_90,code=compute_90")
# --fmad=false: a formula gives on a GPU what the CPU loop gives, for which there are tests everywhere
# --threads=0: the architectures of a file at the same time, where the other files are done
# -compress-all: the machine code is stored compressed, to a tenth of its size, and decompressed when the library is loaded
_FLAGS = (
    "-std=c++20 -O3 --fmad=false -DNDEBUG --threads=0 -Xfatbin -compress-all -Xcompiler -fPIC,-fvisibility=hidden"
).split()
_HOW = (
    "install the CUDA toolkit's nvcc (conda: `conda install -c nvidia cuda-nvcc cuda-cudart-dev`) "
    "and name it in CUDACXX unless it is on the PATH or below CUDA_HOME"
)


@cache
def find_nvcc() -> str | None:
    """nvcc's path: `$CUDACXX`, else that of `$CUDA_HOME`, of the environment's packages, on the PATH, or the usual one.

    Raises BuildError where CUDACXX names something that is not there.
    """
    if named := os.environ.get("CUDACXX"):
        if path := shutil.which(named):
            return path
        raise BuildError(f"CUDACXX={named} is no program; {_HOW}")
    homes = [Path(home) for name in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(name))]
    homes += sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/cu[0-9]*"), reverse=True)
    candidates = [*(str(home / "bin" / "nvcc") for home in homes), "nvcc", "/usr/local/cuda/bin/nvcc"]
    return next((path for name in candidates if (path := shutil.which(name))), None)


@cache
def nvcc_version(nvcc: str) -> str:
    """Such as 13.0.88."""
    done = subprocess.run([nvcc, "--version"], capture_output=True, text=True)
    found = re.search(r"\bV(\d[\d.]*)", done.stdout)
    return found.group(1) if found else "unknown"


@dataclass(frozen=True)
class CudaStamp:
    """From what a library was made; lies beside it as JSON."""

    nvcc: str
    flags: str
    sources: str
    module: str = ""  # the file's SHA-256

    def __str__(self) -> str:
        return f"nvcc {self.nvcc}"


def _flags() -> list[str]:
    architectures = [word for arch in _ARCHITECTURES for word in ("-gencode", arch)]
    return [*_FLAGS, *architectures, *shlex.split(os.environ.get("CUDAFLAGS", ""))]


def sources_hash(root: Path) -> str:
    """Changes with any file that a CUDA kernel may include."""
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
    prefix = None  # no header is compiled ahead

    def __str__(self) -> str:
        return f"CUDA, by nvcc {nvcc_version(self.nvcc)}"

    def sources(self) -> list[Path]:
        return [path.relative_to(self.root) for path in sorted((self.root / "csrc" / "kernels").glob("*.cu"))]

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
    """The build by the nvcc there is; None without one, or without sources."""
    root = root or source_root()
    nvcc = find_nvcc()
    target = CudaTarget(nvcc, root) if nvcc and root else None
    return target if target and target.sources() else None


def _cache_key(root: Path) -> str:
    """Names finished builds of these sources, less nvcc's version: nvcc may be gone when a build is used again."""
    return f"cuda-{_digest(sources_hash(root), *_flags())}-nvcc"


def read_cuda_stamp(library: Path) -> CudaStamp | None:
    """From what `library` was made; None where it does not exist."""
    return read_json(library, CudaStamp)


def existing_library(cache: Path) -> Path | None:
    """The package's own library or a cached one, made from the sources there are.

    Raises BuildError where a cached one may be somebody else's.
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
    text = f"{why}. ATen does the work of compatgrad's CUDA kernels, with more passes over memory"
    warnings.warn(text, RuntimeWarning, stacklevel=3)


def find_library() -> str | None:
    """The library's path, compiled where it must be; None, after a warning, without one. The engine asks once."""
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
    """Warns that a library was found which does not run here."""
    _without(
        f"{library} does not run here ({error}): it needs a driver for its CUDA version and a GPU from sm_80 on; "
        f"compile it by another nvcc, or set {SWITCH}=0 to leave it alone"
    )
