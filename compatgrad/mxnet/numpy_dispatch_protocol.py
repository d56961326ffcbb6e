"""`mxnet.numpy_dispatch_protocol`: lists of NumPy's functions that `mx.np` replaces, and decorators for tests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .numpy._protocols import FUNCTIONS as _NUMPY_ARRAY_FUNCTION_LIST
from .numpy._protocols import UFUNCS as _NUMPY_ARRAY_UFUNC_LIST

__all__ = ["with_array_function_protocol", "with_array_ufunc_protocol"]
_LISTS = (_NUMPY_ARRAY_FUNCTION_LIST, _NUMPY_ARRAY_UFUNC_LIST)


def _with(protocol: str, example: str, result: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                func(*args, **kwargs)
            except Exception as e:
                what = f"Running function {func.__name__} with NumPy array {protocol} protocol"
                raise RuntimeError(f"{what} failed with exception {e}") from e

        return run

    decorate.__doc__ = f"""Decorates a function that calls functions of NumPy on arrays of `mx.np`.

    Args:
        func: the function, which needs NumPy's {protocol} protocol; what it returns is dropped.

    Returns:
        A function of the same arguments, which raises RuntimeError if `func` raises.

    Raises:
        Nothing.

    Example:
        >>> @mx.numpy_dispatch_protocol.with_array_{protocol}_protocol
        ... def shown(x): print({example})
        >>> shown(mx.np.array([1.0, 3.0]))
        {result}

    Source: `mxnet.numpy_dispatch_protocol.with_array_{protocol}_protocol` of MXNet 1.9.1.
    """
    return decorate


with_array_function_protocol = _with("function", "np.mean(x)", "2.0")
with_array_ufunc_protocol = _with("ufunc", "np.add(x, 1)", "[2. 4.]")
