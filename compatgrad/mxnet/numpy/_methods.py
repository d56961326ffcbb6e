"""The methods of `mx.np.ndarray`, and NumPy's own functions on such arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from ..ndarray.ndarray import NDArray
from ..util import _check_ufunc_options
from . import _functions, _shapes
from ._array import constant, ndarray
from .fallback import NAMES


def _to_numpy(x: Any) -> Any:
    if isinstance(x, NDArray):
        return x.asnumpy()
    if isinstance(x, (list, tuple)):
        return type(x)(_to_numpy(v) for v in x)
    return {k: _to_numpy(v) for k, v in x.items()} if isinstance(x, dict) else x


def _from_numpy(x: Any, device: torch.device | None = None) -> Any:
    if isinstance(x, onp.ndarray):
        if x.dtype.kind not in "biuf" or x.dtype in (onp.uint16, onp.uint32, onp.uint64):
            return x
        return constant(torch.from_numpy(onp.ascontiguousarray(x)).reshape(onp.shape(x)).to(device))
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(_from_numpy(v, device) for v in x)
    return x  # NumPy's own numbers too


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> onp.ndarray:
    return onp.isin(onp.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _removed(name: str) -> Callable[..., Any]:
    """What a newer NumPy does not have under its old name."""
    same: dict[str, Any] = {"in1d": _in1d, "msort": lambda a: onp.sort(a, axis=0), "row_stack": onp.vstack,
                            "trapz": getattr(onp, "trapezoid", None)}  # fmt: skip
    if same.get(name):
        return same[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"NumPy {onp.__version__} has no function {name}; numpy_financial has those of finance")

    return call


def of_numpy(name: str) -> Callable[..., Any]:
    """A function of NumPy that takes and gives arrays of `mx.np`; without gradients."""
    function = getattr(onp, name, None) or _removed(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if name == "lcm" and kwargs:
            _check_ufunc_options(name, {k: v for k, v in kwargs.items() if k != "out"})
        device = next((x.tensor.device for x in (*args, *kwargs.values()) if isinstance(x, NDArray)), None)
        y = function(*_to_numpy(args), **_to_numpy(kwargs))
        # the original computes some of them itself: they give arrays where NumPy gives its numbers
        return _from_numpy(y if name in NAMES or not isinstance(y, onp.generic) else onp.asarray(y), device)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}`; no gradient."
    return call


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


_BOTH = (
    "sum prod mean max min var std any all argmax argmin argsort cumsum round dot nonzero swapaxes squeeze take "
    "repeat ravel diagonal trace broadcast_to"
).split()
for _name in _BOTH:
    setattr(ndarray, _name, _method(getattr(_functions, _name, None) or getattr(_shapes, _name)))


def _reshape(self: ndarray, *args: Any, order: str = "C", **kwargs: Any) -> ndarray:
    """The same elements in another shape, given as one tuple or as several lengths."""
    new = kwargs.pop("newshape", kwargs.pop("shape", args[0] if len(args) == 1 else args))
    if kwargs:
        raise TypeError(f"reshape: unexpected arguments {list(kwargs)}")
    return _shapes.reshape(self, new, order=order)


def _transpose(self: ndarray, *axes: Any) -> ndarray:
    """The axes in another order, given as one tuple or as several numbers, or reversed."""
    if not axes or axes == (None,):
        return _shapes.transpose(self)
    return _shapes.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _flatten(self: ndarray, order: str = "C") -> ndarray:
    """A copy with all elements in one axis."""
    return _shapes.copy(_shapes.ravel(self, order))


def _sort(self: ndarray, axis: int = -1, kind: Any = None, order: Any = None) -> None:
    """Sorts the array in place."""
    self._check_writable()
    self.tensor.copy_(self.tensor.sort(dim=axis, stable=True).values)


def _clip(self: ndarray, min: Any = None, max: Any = None, out: Any = None) -> ndarray:
    """The elements limited from below, from above or both."""
    return _functions.clip(self, min, max, out)


for _function in (_reshape, _transpose, _flatten, _sort, _clip):
    _function.__name__ = _function.__name__[1:]
    _function.__qualname__ = f"ndarray.{_function.__name__}"
    setattr(ndarray, _function.__name__, _function)
