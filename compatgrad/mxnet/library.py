"""Libraries of operators in C++."""

from __future__ import annotations

import os

from .base import MXNetError

__all__ = ["load"]


def load(path: str, verbose: bool = True) -> None:
    """MXNetError: libraries made for MXNet's C interface cannot be loaded, and files that are none are named."""
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
