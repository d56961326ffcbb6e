"""`python -m compatgrad info`: versions, folders and settings."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterator

import compatgrad
from compatgrad._build.compiler import read_stamp
from compatgrad._build.cuda import existing_library, find_nvcc, nvcc_version, read_cuda_stamp
from compatgrad._build.loader import NO_COMPILE, built_words, cache_dir, existing_module
from compatgrad._build.target import (
    PACKAGE,
    BuildError,
    compiler_version,
    find_compiler,
    find_torch,
    source_hash,
    source_root,
)
from compatgrad._install import available

_EXTRAS = (
    "h5py",
    "cupy",
    "scipy",
    "scikit-learn",
    "matplotlib",
    "protobuf",
    "graphviz",
    "onnxscript",
    "safetensors",
)
_ORIGINALS = ("chainer", "nnabla", "mxnet")
_ENVIRONMENT = ("COMPATGRAD_", "CXX", "CUDA_", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONPATH", "TORCH_")


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _versions(distributions: tuple[str, ...]) -> str:
    found = [f"{name} {version}" for name in distributions if (version := _version(name))]
    return ", ".join(found) or "none"


def _torch_rows() -> Iterator[tuple[str, str]]:
    try:
        torch = find_torch()
    except BuildError as error:
        yield "torch", str(error)
        return
    if torch is None:
        yield "torch", "not installed"
        yield "module", built_words()
        return
    yield "torch", f"{torch}, in {torch.path}"
    try:
        module = existing_module(torch)
    except BuildError as error:  # the file belongs to another user
        yield "module", str(error)
        return
    stamp = read_stamp(module) if module else None
    if stamp is None:
        off = f", except that {NO_COMPILE} switches that off" if os.environ.get(NO_COMPILE) else ""
        yield "module", f"{built_words()}; it will be compiled at the first import{off}"
    else:
        root = source_root()
        stale = root is not None and stamp.sources != source_hash(root)
        yield "module", str(module)
        yield "  built for", str(stamp)
        yield "  built by", stamp.compiler
        yield "  flags", stamp.flags
        yield "  sources", "changed since" if stale else "unchanged since"
    try:
        import torch as running
    except ImportError as error:
        yield "import torch", f"fails: {error}"
        return
    names = [running.cuda.get_device_name(i) for i in range(running.cuda.device_count())]
    yield "CUDA devices", ", ".join(names) or "none"
    yield "threads", f"{running.get_num_threads()} of {os.cpu_count()} cores"
    if stamp is not None:
        yield "kept memory", _kept_memory()


def _kept_memory() -> str:
    try:
        from compatgrad import _C

        most = _C.memory_amounts()[2]
    except (AttributeError, ImportError, ValueError) as error:  # a module from other sources may lack the function
        return f"unknown: {error}"
    return f"up to {most >> 20} MiB of freed CPU tensors" if most else "none"


def _compiler() -> str:
    try:
        command = find_compiler()
    except BuildError as error:
        return str(error)
    return f"{' '.join(command)}: {compiler_version(command)}"


def _nvcc() -> str:
    try:
        path = find_nvcc()
    except BuildError as error:
        return str(error)
    return f"{path}: {nvcc_version(path)}" if path else "not found"


def _cuda_kernels() -> str:
    try:
        if library := existing_library(cache_dir()):
            return f"{library}, by {read_cuda_stamp(library)}"
    except BuildError as error:
        return str(error)
    try:
        there = find_nvcc()
    except BuildError:
        there = None
    return "compiled when they are first used" if there else "none, and no nvcc: ATen computes instead"


def _rows() -> Iterator[tuple[str, str]]:
    yield "compatgrad", f"{compatgrad.__version__}, in {PACKAGE}"
    yield "frontends", ", ".join(available()) or "none"
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    yield "platform", platform.platform()
    yield "numpy", _version("numpy") or "not installed"
    yield from _torch_rows()
    yield "compiler", _compiler()
    yield "nvcc", _nvcc()
    yield "CUDA kernels", _cuda_kernels()
    yield "cache", str(cache_dir())
    yield "extras", _versions(_EXTRAS)
    yield "originals", _versions(_ORIGINALS)
    chosen = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(_ENVIRONMENT)]
    yield "environment", " ".join(chosen) or "nothing that matters"


def _all_rows() -> Iterator[tuple[str, str]]:
    rows = _rows()
    try:
        yield from rows
    except Exception as error:  # parts of torch or of the package are missing; what was found so far still helps
        yield "error", f"{type(error).__name__}: {error}"


def facts() -> dict[str, str]:
    """What `report` prints, by name."""
    return {name.strip(): value for name, value in _all_rows()}


def report() -> str:
    """One line per fact."""
    return "\n".join(f"{name + ':':14}{value}" for name, value in _all_rows())


_HELP = """\
usage: python -m compatgrad info [--json]

Prints versions, folders and settings. `python -m compatgrad test --format json` prints these, too, and the results of
its checks: a bug report needs the latter.

options:
  --json                         the same facts as a JSON object: {"schema": 1, "facts": {name: text}}
"""


def main(arguments: list[str]) -> int:
    """Prints the report; returns the exit code."""
    if arguments in (["-h"], ["--help"]):
        print(_HELP, end="")
        return 0
    if arguments == ["--json"]:
        print(json.dumps({"schema": 1, "tool": "compatgrad info", "facts": facts()}, indent=1, sort_keys=True))
        return 0
    if arguments:
        print(f"compatgrad info: takes no arguments but --json, got {arguments[0]!r}", file=sys.stderr)
        return 2
    print(report())
    return 0
