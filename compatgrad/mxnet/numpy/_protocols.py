"""NumPy's protocols: NumPy's own functions, called on arrays of `mx.np`, run those of `mx.np`, or run on copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from ..ndarray.ndarray import is_recording
from . import _creation, _functions, _joining, _lists, _padding, _picking, _products, _reductions, _shapes, linalg
from ._array import ndarray
from ._of_numpy import COPIED, from_numpy, lcm, of_numpy, to_numpy

__all__ = ["FUNCTIONS", "UFUNCS"]

FUNCTIONS = (
    "all any sometrue argmin argmax around round round_ argsort sort append broadcast_arrays broadcast_to clip "
    "concatenate copy cumsum diag diagonal diagflat dot expand_dims fix flip flipud fliplr inner insert max amax "
    "mean min amin nonzero ones_like atleast_1d atleast_2d atleast_3d prod product ravel repeat reshape roll "
    "split array_split hsplit vsplit dsplit squeeze stack std sum swapaxes take tensordot tile transpose unique "
    "unravel_index diag_indices_from delete var vdot vstack column_stack hstack dstack zeros_like linalg.norm "
    "linalg.cholesky linalg.inv linalg.solve linalg.tensorinv linalg.tensorsolve linalg.pinv linalg.eigvals "
    "linalg.eig linalg.eigvalsh linalg.eigh shape trace tril meshgrid outer einsum polyval shares_memory "
    "may_share_memory quantile percentile diff ediff1d resize where full_like bincount empty_like nan_to_num "
    "isnan isfinite isposinf isneginf isinf pad"
).split()
UFUNCS = (
    "abs fabs add arctan2 copysign degrees hypot lcm subtract multiply true_divide negative power mod matmul absolute "
    "rint sign exp log log2 log10 expm1 sqrt square cbrt reciprocal invert bitwise_not remainder sin cos tan sinh cosh "
    "tanh arcsin arccos arctan arcsinh arccosh arctanh maximum minimum ceil trunc floor bitwise_and bitwise_xor "
    "bitwise_or logical_not equal not_equal less less_equal greater greater_equal"
).split()


def of_name(name: str) -> Callable[..., Any] | None:
    """The function of `mx.np` of a name, dots included."""
    if name in COPIED:
        return of_numpy(name)
    if name == "lcm":
        return lcm
    if name.startswith("linalg."):
        return getattr(linalg, name.removeprefix("linalg."), None)
    modules = (_functions, _reductions, _creation, _shapes, _joining, _picking, _products, _padding, _lists)
    return next((getattr(m, name) for m in modules if hasattr(m, name)), None)


_functions_of: dict[Any, Callable[..., Any]] = {}


def register_functions() -> None:
    """Registers the functions of `mx.np` that replace NumPy's."""
    for name in FUNCTIONS:
        theirs: Any = onp
        for part in name.split("."):
            theirs = getattr(theirs, part, None)  # NumPy 2 lacks some
        ours = of_name(name)
        assert ours is not None, name
        if theirs is not None:
            _functions_of[theirs] = ours


def _device(values: Any) -> Any:
    for v in values:
        if isinstance(v, ndarray):
            return v.tensor.device
        if isinstance(v, (list, tuple)):
            found = _device(v)
            if found is not None:
                return found
    return None


def _on_copies(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    if is_recording():
        raise ValueError(f"NumPy's {function.__name__} cannot be recorded: call it outside of record(), or call a "
                         "function of mx.np")  # fmt: skip
    return from_numpy(function(*to_numpy(args), **to_numpy(kwargs)), _device((*args, *kwargs.values())))


def array_ufunc(self: ndarray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`__array_ufunc__`: runs the function of `mx.np` for a ufunc of NumPy."""
    outs = kwargs.pop("out", ())
    if len(outs) > 1:
        raise ValueError("The `out` parameter must have exactly one ndarray")
    own = of_name(ufunc.__name__) if method == "__call__" and ufunc.__name__ in UFUNCS else None
    if own is not None and (not outs or isinstance(outs[0], ndarray)):
        return own(*inputs, **kwargs, **({"out": outs[0]} if outs else {}))
    if outs:
        kwargs["out"] = outs
    if outs and isinstance(outs[0], ndarray):
        raise TypeError(f"{ufunc.__name__}: out must be a NumPy array, mx.np has no function of that name")
    return _on_copies(getattr(ufunc, method), inputs, kwargs)


def array_function(self: ndarray, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """`__array_function__`: runs the function of `mx.np` for another function of NumPy."""
    if not _functions_of:
        register_functions()
    own = _functions_of.get(function)
    if own is None:
        return _on_copies(function, args, kwargs)
    if not all(issubclass(t, ndarray) for t in types):
        return NotImplemented
    return own(*args, **kwargs)


ndarray.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
ndarray.__array_function__ = array_function  # type: ignore[attr-defined]
