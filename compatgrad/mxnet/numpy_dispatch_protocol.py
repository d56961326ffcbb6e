"""`mxnet.numpy_dispatch_protocol`: which functions of NumPy are answered by those of `mx.np`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .numpy._protocols import FUNCTIONS as _NUMPY_ARRAY_FUNCTION_LIST
from .numpy._protocols import UFUNCS as _NUMPY_ARRAY_UFUNC_LIST

__all__ = ["with_array_function_protocol", "with_array_ufunc_protocol"]
_LISTS = (_NUMPY_ARRAY_FUNCTION_LIST, _NUMPY_ARRAY_UFUNC_LIST)


def _with(protocol: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                func(*args, **kwargs)
            except Exception as e:
                what = f"Running function {func.__name__} with NumPy array {protocol} protocol"
                raise RuntimeError(f"{what} failed with exception {e}") from e

        return run

    decorate.__doc__ = f"Decorates a function that needs NumPy's {protocol} protocol; its errors become RuntimeError."
    return decorate


with_array_function_protocol = _with("function")
with_array_ufunc_protocol = _with("ufunc")
