"""Whether a function is being traced, and the arrays that stand for tensors without values in a trace."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["ArrayWithoutValues", "exporting", "is_exporting"]


class _Running(threading.local):
    depth = 0


_running = _Running()


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """A context in which `is_exporting` is true in this thread.

    Returns:
        The context.

    Raises:
        TypeError: an argument is given.

    Example:
        >>> from compatgrad.core.tracing import exporting, is_exporting
        >>> with exporting():
        ...     is_exporting()
        True

    Source: `compatgrad/core/tracing.py`.
    """
    _running.depth += 1
    try:
        yield
    finally:
        _running.depth -= 1


def is_exporting() -> bool:
    """Whether an export runs in this thread.

    Returns:
        True between the beginning of `interop.export`, or of a trace of `interop.compile`, and its end.

    Raises:
        TypeError: an argument is given.

    Example:
        >>> from compatgrad.core.tracing import is_exporting
        >>> is_exporting()
        False

    Source: `compatgrad/core/tracing.py`.
    """
    return _running.depth > 0


class ArrayWithoutValues:
    """Stands for the NumPy array of a tensor while a function is traced. It can be assigned to a Variable, which copies
    the tensor; anything else would read values, which a trace does not have.

    Args:
        owner: the frontend's array.
        error: the error of reading the values.

    Example:
        >>> from compatgrad.core.tracing import ArrayWithoutValues
        >>> ArrayWithoutValues("x", RuntimeError("no values")).sum()
        Traceback (most recent call last):
        ...
        RuntimeError: no values

    Source: `compatgrad/core/tracing.py`.
    """

    __slots__ = ("_error", "_owner")

    def __init__(self, owner: Any, error: Exception) -> None:
        object.__setattr__(self, "_owner", owner)
        object.__setattr__(self, "_error", error)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise self._error

    def __getattr__(self, name: str) -> Any:
        raise self._error


for _name in (
    *("array", "len", "iter", "getitem", "setitem", "contains", "float", "int", "bool", "index", "complex"),
    *("str", "repr", "format", "hash", "neg", "pos", "abs", "invert", "setattr"),
    *("eq", "ne", "lt", "le", "gt", "ge", "array_ufunc", "array_function"),
    *(p + n for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
      for p in ("", "r", "i")),
):  # fmt: skip
    setattr(ArrayWithoutValues, f"__{_name}__", ArrayWithoutValues._refuse)
