"""What is compiled, for which torch and Python, with which flags."""

from __future__ import annotations

import hashlib
import os
import runpy
import shlex
import shutil
import site
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from compatgrad._build.units import Unit, units_of

PACKAGE = Path(__file__).resolve().parent.parent
MODULE = "_C"
MIN_TORCH = (2, 9)
SOURCE_DIRS = ("python", "core", "ops", "kernels")

# -fno-plt, no interposition, hidden symbols: calls inside the module become direct ones
# -fno-math-errno: without it no loop that calls std::sqrt is vectorized
COMPILE_FLAGS = (
    "-std=c++20 -O2 -fno-math-errno -DNDEBUG -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-plt "
    "-fno-semantic-interposition -DAT_PER_OPERATOR_HEADERS"
).split()
# not part of cache keys, because they do not change object files. -Wno-maybe-uninitialized: gcc wrongly blames torch's
# SmallVector
WARNING_FLAGS = (
    "-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers "
    "-Wno-unknown-warning-option -Wno-maybe-uninitialized"
).split()
LINK_FLAGS = "-shared -Wl,-O1 -Wl,--no-as-needed".split()
LIBRARIES = "-ltorch -ltorch_cpu -lc10 -ltorch_python".split()


class BuildError(Exception):
    """The compiled module cannot be built; the text says why and what to do."""


def python_tag() -> str:
    """The tag of the Python ABI, as in the file names of extension modules."""
    return str(sysconfig.get_config_var("SOABI"))


def module_file() -> str:
    return MODULE + str(sysconfig.get_config_var("EXT_SUFFIX"))


@dataclass(frozen=True)
class Stamp:
    """What a compiled module was built for; stored beside it as JSON."""

    torch: str
    torch_git: str
    cuda: str | None
    python: str
    compiler: str = ""
    flags: str = ""
    sources: str = ""
    module: str = ""  # the file's SHA-256
    size: int = 0  # the file's number of bytes; 0: not known

    def serves(self, other: Stamp) -> bool:
        """Whether a module with this stamp can be loaded if `other` is needed."""
        return self.runtime() == other.runtime()

    def runtime(self) -> tuple[str, str, str]:
        """What a module depends on: the same commit of torch, and Python. torch's builds of one commit for the CPU and
        for versions of CUDA have the same headers, apart from those of CUDA itself, which the module does not use."""
        return self.torch.partition("+")[0], self.torch_git, self.python

    def torch_words(self) -> str:
        return f"torch {self.torch} (git {self.torch_git[:8]}, CUDA {self.cuda or 'none'})"

    def __str__(self) -> str:
        return f"{self.torch_words()}, {self.python}"


@dataclass(frozen=True)
class Torch:
    """The torch to build for, described by its `version.py`."""

    version: str
    git: str
    cuda: str | None
    path: Path

    def __str__(self) -> str:
        return self.stamp().torch_words()

    def stamp(self) -> Stamp:
        """The stamp of a module that runs with this torch and this Python."""
        return Stamp(self.version, self.git, self.cuda, python_tag())

    @property
    def cxx11_abi(self) -> int:
        # Read from the library file, because importing torch takes seconds and fails if its GPU libraries are missing.
        return int(b"ErrorC1ENS_14SourceLocationESs" not in (self.path / "lib" / "libc10.so").read_bytes())


def read_torch(path: Path) -> Torch:
    """The torch whose package folder is `path`."""
    names = runpy.run_path(str(path / "version.py"))
    torch = Torch(names["__version__"], names.get("git_version") or "unknown", names.get("cuda"), path)
    if tuple(int(part) for part in torch.version.split(".")[:2]) < MIN_TORCH:
        least = ".".join(map(str, MIN_TORCH))
        raise BuildError(f"compatgrad needs torch {least} or newer, found {torch} in {path}")
    return torch


def find_torch() -> Torch | None:
    """The torch of this interpreter, found without importing it; None if there is none.

    pip's build isolation removes the environment's site-packages from `sys.path` but keeps `sys.prefix`, so those
    folders (and the folders in their .pth files) are searched next.
    """
    spec = PathFinder.find_spec("torch")
    if spec is None:
        for name in ("purelib", "platlib"):
            site.addsitedir(sysconfig.get_path(name))
        if sys.prefix == sys.base_prefix:
            site.addsitedir(site.getusersitepackages())
        spec = PathFinder.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    return read_torch(Path(spec.origin).resolve().parent)  # links resolved: one folder of objects


def source_root() -> Path | None:
    """The folder that contains `csrc`: the package itself if it is installed, otherwise the checkout."""
    return next((root for root in (PACKAGE, PACKAGE.parent) if (root / "csrc").is_dir()), None)


def source_files(root: Path) -> list[Path]:
    """The files to compile, relative to `root`."""
    found = [path for folder in SOURCE_DIRS for path in sorted((root / "csrc" / folder).glob("*.cpp"))]
    return [path.relative_to(root) for path in found]


def source_hash(root: Path) -> str:
    """A hash that changes with any file below `csrc`."""
    digest = hashlib.sha256()
    for path in sorted((root / "csrc").rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def find_compiler() -> tuple[str, ...]:
    """The C++ compiler's command: `$CXX`, else the first of c++, g++, clang++ that exists."""
    named = os.environ.get("CXX")
    candidates = [named] if named else ["c++", "g++", "clang++"]
    for candidate in candidates:
        command = shlex.split(candidate)
        if command and shutil.which(command[0]):
            return tuple(command)
    asked = f"CXX={named}" if named else "c++, g++ and clang++"
    raise BuildError(
        f"no C++ compiler found (looked for {asked}); install one that supports C++20, such as "
        "g++ 11 or clang 14 (Debian: `apt install g++`, conda: `conda install gxx`), or name it in CXX"
    )


@cache
def compiler_version(command: tuple[str, ...]) -> str:
    """First line of `--version`."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    return (done.stdout or done.stderr).partition("\n")[0].strip() or "unknown"


@dataclass(frozen=True)
class Target:
    """One build: for a torch, from the sources below `root`."""

    torch: Torch
    root: Path
    prefix = "csrc/prefix.h"  # the precompiled header, which includes external headers

    def __str__(self) -> str:
        return str(self.torch)

    @property
    def compiler(self) -> tuple[str, ...]:
        return find_compiler()

    def portable_flags(self) -> list[str]:
        """The compiler's flags without the folders of this machine's headers."""
        abi = f"-D_GLIBCXX_USE_CXX11_ABI={self.torch.cxx11_abi}"
        return [*COMPILE_FLAGS, abi, *shlex.split(os.environ.get("CXXFLAGS", ""))]

    def compile_flags(self) -> list[str]:
        include = self.torch.path / "include"
        # -isystem: no warnings for external headers
        systems = [include, include / "torch" / "csrc" / "api" / "include", sysconfig.get_path("include")]
        return [*self.portable_flags(), "-Icsrc", *(f"-isystem{path}" for path in systems)]

    def compile_command(self) -> list[str]:
        return [*self.compiler, *WARNING_FLAGS, *self.compile_flags()]

    def link_flags(self) -> list[str]:
        # No rpath is needed: torch is imported first, so its libraries are already loaded and found by name.
        lib = f"-L{self.torch.path / 'lib'}"
        return [*LINK_FLAGS, lib, *LIBRARIES, *shlex.split(os.environ.get("LDFLAGS", ""))]

    def link_command(self, objects: list[Path], out: Path) -> list[str]:
        return [*self.compiler, *map(str, objects), *self.link_flags(), "-o", str(out)]

    def units(self) -> list[Unit]:
        """The files to compile, relative to `root`, in groups that are compiled together."""
        return units_of(self.root, source_files(self.root))

    def file_name(self) -> str:
        return module_file()

    def stamp(self) -> Stamp:
        running = self.torch.stamp()
        flags = " ".join(self.portable_flags())
        return replace(running, compiler=compiler_version(self.compiler), flags=flags, sources=source_hash(self.root))

    def object_folder(self) -> str:
        """The name of the folder of object files, made from everything that affects them except the sources, which
        depfiles track."""
        return self._folder(*self.compiler, compiler_version(self.compiler), *self.compile_flags())

    def cache_folder(self) -> str:
        """The name of a finished build. It does not depend on the compiler, which may be missing when the build is used
        again."""
        return self._folder(*self.portable_flags(), source_hash(self.root))

    def _folder(self, *shapes: str) -> str:
        running = self.torch.stamp()
        digest = hashlib.sha256("\0".join(map(str, (*running.runtime(), *shapes))).encode()).hexdigest()
        return f"{running.python}-torch{running.torch}-{digest[:10]}"


def current_target() -> Target:
    """The target for this interpreter's torch. Raises BuildError if torch or the sources are missing."""
    torch = find_torch()
    if torch is None:
        raise BuildError(f"no torch found for {sys.executable}; install one first: `pip install torch`")
    return target_for(torch)


def target_for(torch: Torch) -> Target:
    root = source_root()
    if root is None:
        raise BuildError(f"the C++ sources are neither in {PACKAGE} nor beside it; reinstall compatgrad")
    return Target(torch, root)
