"""The setting that makes backward compute Variables again instead of keeping their data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from compatgrad import _C
from compatgrad.core.configuration import using_modes

__all__ = ["get_global_recompute", "recompute", "recompute_fn", "set_global_recompute"]


def set_global_recompute(recompute: bool) -> None:
    """Sets `Variable.recompute` of new Variables: whether backward computes them again instead of keeping their data.

    Args:
        recompute: True saves memory, but needs more computation.

    Raises:
        ValueError: `recompute` is an array of several elements, which is neither true nor false.

    Example:
        >>> nn.set_global_recompute(True)
        >>> F.relu(nn.Variable((2, 3))).recompute
        True
        >>> nn.set_global_recompute(False)

    Source: `nnabla.set_global_recompute` of nnabla 1.39.0.
    """
    _C.set_global_recompute(bool(recompute))


def get_global_recompute() -> bool:
    """The value of `Variable.recompute` of new Variables.

    Returns:
        True where backward computes them again.

    Example:
        >>> nn.get_global_recompute()
        False

    Source: `nnabla.recompute.get_global_recompute` of nnabla 1.39.0.
    """
    return _C.get_global_recompute()


def recompute(recompute_: bool = True) -> using_modes:
    """Context manager: backward computes the Variables that are made inside the block again instead of keeping their
    data, which saves memory.

    Args:
        recompute_: False, inside a block of True, keeps the data of Variables that are made in the inner block.

    Returns:
        A context manager.

    Raises:
        ValueError: `recompute_` is an array of several elements, which is neither true nor false.

    Example:
        >>> x = nn.Variable((2, 3))
        >>> with nn.recompute():
        ...     h = F.tanh(x)
        >>> h.recompute, F.exp(h).recompute
        (True, False)

    Source: `nnabla.recompute` of nnabla 1.39.0.
    """
    return using_modes(process_recompute=bool(recompute_))


def recompute_fn(recompute_: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a decorator of functions that then run inside `recompute(recompute_)`.

    Args:
        recompute_: see `recompute`.

    Returns:
        A decorator of functions with any arguments.

    Raises:
        ValueError: when the function is called, `recompute_` is an array of several elements.

    Example:
        >>> @nn.recompute_fn()
        ... def block(x):
        ...     return F.tanh(x)
        >>> block(nn.Variable((2, 3))).recompute
        True

    Source: `nnabla.recompute_fn` of nnabla 1.39.0.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with recompute(recompute_):
                return f(*args, **kwargs)

        return wrapped

    return decorate
