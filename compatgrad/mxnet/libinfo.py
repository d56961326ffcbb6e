"""MXNet's version, and the paths of the library and its headers."""

from __future__ import annotations

import os

__all__ = ["__version__", "find_include_path", "find_lib_path"]

__version__ = "1.9.1"  # the version of MXNet whose programs run here


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """The path of the compiled library, here the engine's own.

    Args:
        prefix: name of the library, "libmxnet".

    Returns:
        A list of one path.

    Raises:
        RuntimeError: `prefix` is another name.

    Example:
        >>> len(mx.libinfo.find_lib_path())
        1

    Source: `mxnet.libinfo.find_lib_path` of MXNet 1.9.1.
    """
    from compatgrad import _C

    path = getattr(_C, "__file__", None)
    if prefix != "libmxnet" or path is None:
        raise RuntimeError(f"find_lib_path: there is no library {prefix} here; the engine is {path}")
    return [path]


def find_include_path() -> str:
    """The folder of MXNet's headers that the environment variable MXNET_INCLUDE_PATH names.

    No headers come with this package: RuntimeError if the variable names no folder.

    Returns:
        The path.

    Example:
        >>> mx.libinfo.find_include_path()
        Traceback (most recent call last):
            ...
        RuntimeError: find_include_path: no headers of MXNet come with this package

    Source: `mxnet.libinfo.find_include_path` of MXNet 1.9.1.
    """
    path = os.environ.get("MXNET_INCLUDE_PATH")
    if path and os.path.isdir(path):
        return path
    raise RuntimeError("find_include_path: no headers of MXNet come with this package")
