"""Version and places of the library."""

from __future__ import annotations

import os

__all__ = ["__version__", "find_include_path", "find_lib_path"]

__version__ = "1.9.1"  # of the programs that run here


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """The compiled library, in a list: the engine's own; RuntimeError for the path of another library."""
    from compatgrad import _C

    path = getattr(_C, "__file__", None)
    if prefix != "libmxnet" or path is None:
        raise RuntimeError(f"find_lib_path: there is no library {prefix} here; the engine is {path}")
    return [path]


def find_include_path() -> str:
    """Not there: no headers of MXNet come with this package. Raises RuntimeError."""
    path = os.environ.get("MXNET_INCLUDE_PATH")
    if path and os.path.isdir(path):
        return path
    raise RuntimeError("find_include_path: no headers of MXNet come with this package")
