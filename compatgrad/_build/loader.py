"""Finds the compiled module for the running torch when compatgrad is imported, or compiles it."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

from compatgrad._build.compiler import compile_into, locked_cache, read_cached, read_stamp, stamp_path
from compatgrad._build.target import (
    PACKAGE,
    BuildError,
    Stamp,
    Torch,
    module_file,
    read_torch,
    source_root,
    target_for,
)

LIB = PACKAGE / "_lib"
NO_COMPILE = "COMPATGRAD_NO_COMPILE"


def cache_dir() -> Path:
    """The folder of modules that are compiled at first import: `$COMPATGRAD_CACHE`, else the user's cache folder."""
    if named := os.environ.get("COMPATGRAD_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "compatgrad"


def _wrong_size(module: Path, stamp: Stamp) -> int | None:
    """The size of a file that a copy or a full disk has cut off; None for a whole one. Its import would end with
    SIGBUS.
    """
    size = module.stat().st_size
    return size if stamp.size not in (0, size) else None


def built_words() -> str:
    """A text that says what the package's own compiled module was built for."""
    own = LIB / module_file()
    if built := read_stamp(own):
        if (size := _wrong_size(own, built)) is not None:
            return f"damaged: {own} has {size:,} bytes of {built.size:,}"
        return f"built for {built}"
    if own.exists():
        return f"built for an unknown torch, because {stamp_path(own)} is missing or damaged"
    others = sorted(path.name for path in LIB.glob("_C.*.so"))
    return f"built for another Python ({', '.join(others)})" if others else "not built by the installation"


def _in_main_interpreter() -> bool:
    import ctypes

    running, main = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_Main
    running.restype = main.restype = ctypes.c_void_p
    return bool(running() == main())


def _import_torch() -> ModuleType:
    if not _in_main_interpreter():  # there the import of torch hangs, or fails with an error without a reason
        raise ImportError(
            "compatgrad: torch, and compatgrad with it, can be imported by a process's main interpreter alone, and this "
            "is a sub-interpreter. To do: import compatgrad in the main interpreter, or in another process"
        )
    try:
        import torch
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            why, do = "is not installed", f"install it: `{sys.executable} -m pip install torch`"
        else:
            why, do = f"cannot be imported ({error})", "repair or reinstall torch"
        raise ImportError(
            f"compatgrad runs on torch, which {why}. Its compiled module was {built_words()}. To do: {do}"
        ) from error
    return torch


def existing_module(torch: Torch) -> Path | None:
    """The package's own module or the cached one, if one was built for `torch`.

    Raises BuildError if another user may have made, or can change, the cached one.
    """
    stamp = read_stamp(bundled := LIB / module_file())
    if stamp is not None and stamp.serves(torch.stamp()) and _wrong_size(bundled, stamp) is None:
        return bundled
    if not source_root():
        return None
    cached = cache_dir() / target_for(torch).cache_folder() / module_file()
    stamp = read_cached(cached, read_stamp, cache_dir())
    return cached if stamp is not None and stamp.serves(torch.stamp()) else None


def _compiled_now(torch: Torch) -> Path:
    target = target_for(torch)
    if os.environ.get(NO_COMPILE):
        raise BuildError(f"compiling at import is switched off by {NO_COMPILE}; unset it, to compile")
    target.compiler  # noqa: B018  raises an error if there is none, before anything is printed or written
    folder = cache_dir() / target.cache_folder()
    try:
        with locked_cache(folder):
            return existing_module(torch) or compile_into(
                target,
                folder,
                f"the compiled module was {built_words()}; compiling it for {target.torch}. "
                "This takes some minutes, once",
            )
    except OSError as error:
        raise BuildError(f"the cache cannot be written ({error}); name a folder in COMPATGRAD_CACHE") from error


def find_module(torch_folder: Path) -> Path:
    """The module for the torch in `torch_folder`: the package's own, else the cached one, else a newly compiled one.

    Raises ImportError that says what the existing module was built for, which torch is running and what to do.
    """
    wanted = None
    try:
        torch = read_torch(torch_folder)
        wanted = torch.stamp()
        return existing_module(torch) or _compiled_now(torch)
    except BuildError as error:
        raise ImportError(
            f"compatgrad's compiled module was {built_words()}; running is {wanted or 'an older torch'}. "
            f"It has to be compiled for that, which is not possible: {error}\n"
            "To do: fix that and import again, or reinstall compatgrad with the running torch in place, by "
            "`pip install --force-reinstall --no-deps --no-cache-dir PATH`, PATH being a wheel or the sources"
        ) from None


def load(name: str) -> ModuleType:
    """Imports the compiled module as `name`."""
    torch = _import_torch()
    assert torch.__file__ is not None
    path = str(find_module(Path(torch.__file__).parent))
    loader = ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
