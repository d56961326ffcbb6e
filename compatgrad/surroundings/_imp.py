"""The module `imp`, which Python 3.12 removed, on `importlib`."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import tokenize
from collections.abc import Callable
from importlib.util import cache_from_source, source_from_cache
from types import ModuleType
from typing import IO, Any

SEARCH_ERROR, PY_SOURCE, PY_COMPILED, C_EXTENSION, PY_RESOURCE, PKG_DIRECTORY, C_BUILTIN, PY_FROZEN = range(8)

__all__ = [
    "acquire_lock",
    "cache_from_source",
    "find_module",
    "get_magic",
    "get_suffixes",
    "get_tag",
    "is_builtin",
    "is_frozen",
    "load_compiled",
    "load_dynamic",
    "load_module",
    "load_package",
    "load_source",
    "lock_held",
    "new_module",
    "release_lock",
    "reload",
    "source_from_cache",
]

reload = importlib.reload


def new_module(name: str) -> ModuleType:
    return ModuleType(name)


def get_magic() -> bytes:
    return importlib.util.MAGIC_NUMBER


def get_tag() -> str | None:
    return sys.implementation.cache_tag


def get_suffixes() -> list[tuple[str, str, int]]:
    machinery = importlib.machinery
    return [
        *((suffix, "rb", C_EXTENSION) for suffix in machinery.EXTENSION_SUFFIXES),
        *((suffix, "r", PY_SOURCE) for suffix in machinery.SOURCE_SUFFIXES),
        *((suffix, "rb", PY_COMPILED) for suffix in machinery.BYTECODE_SUFFIXES),
    ]


def is_builtin(name: str) -> int:
    return int(name in sys.builtin_module_names)


def is_frozen(name: str) -> bool:
    return importlib.machinery.FrozenImporter.find_spec(name) is not None


# Python itself locks imports
def acquire_lock() -> None: ...


def release_lock() -> None: ...


def lock_held() -> bool:
    return False


def find_module(name: str, path: Any = None) -> tuple[IO[Any] | None, str | None, tuple[str, str, int]]:
    """The open file of a module, its name, and (suffix, mode, kind)."""
    if path is None:
        if is_builtin(name):
            return None, None, ("", "", C_BUILTIN)
        if is_frozen(name):
            return None, None, ("", "", PY_FROZEN)
        path = sys.path
    for folder in path:
        package = os.path.join(folder, name)
        for suffix in (".py", ".pyc"):
            if os.path.isfile(os.path.join(package, "__init__" + suffix)):
                return None, package, ("", "", PKG_DIRECTORY)
        for suffix, mode, kind in get_suffixes():
            file = os.path.join(folder, name + suffix)
            if os.path.isfile(file):
                opened: IO[Any] = tokenize.open(file) if kind == PY_SOURCE else open(file, mode)
                return opened, file, (suffix, mode, kind)
    raise ImportError(f"No module named {name!r}", name=name)


def _load(name: str, file: str, loader: Any = None, folders: list[str] | None = None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=folders)
    assert spec is not None and spec.loader is not None
    if name in sys.modules:  # it is executed again in the module that there is, as reload does
        module = sys.modules[name]
        module.__spec__ = spec
    else:
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return sys.modules[name]


def load_source(name: str, pathname: str, file: IO[Any] | None = None) -> ModuleType:
    return _load(name, pathname, importlib.machinery.SourceFileLoader(name, pathname))


def load_compiled(name: str, pathname: str, file: IO[Any] | None = None) -> ModuleType:
    return _load(name, pathname, importlib.machinery.SourcelessFileLoader(name, pathname))


def load_dynamic(name: str, path: str, file: IO[Any] | None = None) -> ModuleType:
    return _load(name, path, importlib.machinery.ExtensionFileLoader(name, path))


def load_package(name: str, path: str) -> ModuleType:
    file = os.path.join(path, "__init__.py")
    if not os.path.exists(file):
        raise ValueError(f"{path!r} is not a package")
    return _load(name, file, folders=[path])


def load_module(name: str, file: IO[Any] | None, filename: str | None, details: tuple[str, str, int]) -> ModuleType:
    """Loads what `find_module` found."""
    kind = details[2]
    if kind in (C_BUILTIN, PY_FROZEN):
        return importlib.import_module(name)
    if filename is None:
        raise ImportError(f"{name} has no file", name=name)
    loaders: dict[int, Callable[[str, str], ModuleType]] = {
        PY_SOURCE: load_source,
        PY_COMPILED: load_compiled,
        C_EXTENSION: load_dynamic,
        PKG_DIRECTORY: load_package,
    }
    if kind not in loaders:
        raise ImportError(f"Don't know how to import {name} (type code {kind})", name=name)
    return loaders[kind](name, filename)
