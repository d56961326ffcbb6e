"""Whether new Variables are computed again in backward instead of kept."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from compatgrad import _C

__all__ = ["get_global_recompute", "recompute", "recompute_fn", "set_global_recompute"]

_recompute = False


def set_global_recompute(recompute: bool) -> None:
    """Sets what new Variables have in `Variable.recompute`: whether backward computes them again, not keeps them.

    Args:
        recompute: True saves memory for more computation.

    Raises:
        ValueError: `recompute` is an array of several elements, which is neither true nor false.

    Example:
        >>> nn.set_global_recompute(True)
        >>> F.relu(nn.Variable((2, 3))).recompute
        True
        >>> nn.set_global_recompute(False)

    Source: `nnabla.set_global_recompute` of nnabla 1.39.0.
    """
    global _recompute
    _recompute = bool(recompute)
    _C.set_global_recompute(_recompute)


def get_global_recompute() -> bool:
    """Tells what new Variables have in `Variable.recompute`.

    Returns:
        True where backward computes them again.

    Example:
        >>> nn.get_global_recompute()
        False

    Source: `nnabla.recompute.get_global_recompute` of nnabla 1.39.0.
    """
    return _recompute


@contextlib.contextmanager
def recompute(recompute_: bool = True) -> Iterator[None]:
    """Backward computes the Variables that are made inside the `with` block again instead of keeping them: it saves
    memory.

    Args:
        recompute_: False keeps those that are made inside, in a block of True.

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
    old = _recompute
    try:
        set_global_recompute(recompute_)  # inside: Ctrl-C right behind it is not to leave it set
        yield
    finally:
        set_global_recompute(old)


def recompute_fn(recompute_: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a decorator: the body of the function runs inside `recompute(recompute_)`.

    Args:
        recompute_: as for `recompute`.

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
