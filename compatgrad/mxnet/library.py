"""`mx.library.load`, which explains that libraries of C++ operators cannot be loaded."""

from __future__ import annotations

import os

from .base import MXNetError

__all__ = ["load"]


def load(path: str, verbose: bool = True) -> None:
    """Says why a library of operators in C++ cannot be loaded: its interface is that of MXNet's own library.

    `mx.operator.CustomOp` and `compatgrad.register` take its place.

    Args:
        path: the file.
        verbose: accepted, without effect.

    Raises:
        MXNetError: always; the message distinguishes a path that is no library, relative or missing from one that is a
            library.

    Example:
        >>> mx.library.load("operators.so")
        Traceback (most recent call last):
            ...
        compatgrad.mxnet.base.MXNetError: load path operators.so does NOT exist

    Source: `mxnet.library.load` of MXNet 1.9.1.
    """
    if not os.path.exists(path):
        raise MXNetError(f"load path {path} does NOT exist")
    if not os.path.isabs(path):
        raise MXNetError(f"load path {path} is not an absolute path")
    if os.path.splitext(path)[1] not in (".so", ".dll"):
        raise MXNetError(f"load path {path} is NOT a library file")
    raise MXNetError(
        f"library.load({path!r}): libraries of operators for MXNet's C interface cannot be loaded; write the operator "
        "as a mx.operator.CustomOp, or register a function with compatgrad.register"
    )
