"""The methods of `mx.np.ndarray`, and NumPy's own functions on such arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from .._attach import method_of
from ..ndarray.ndarray import NDArray
from ..util import _check_ufunc_options
from . import _functions, _picking, _products, _shapes
from ._array import NUMBERS, constant, finish, ndarray, unmoved
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
    same: dict[str, Any] = {"in1d": _in1d, "msort": lambda a: onp.sort(a, axis=0),
                            "trapz": getattr(onp, "trapezoid", None)}  # fmt: skip
    if same.get(name):
        return same[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"NumPy {onp.__version__} has no function {name}; numpy_financial has those of finance")

    return call


def lcm(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """`numpy.lcm` of integers; no gradient."""
    if kwargs:
        _check_ufunc_options("lcm", kwargs)
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.lcm(x1, x2)
    device = (x1 if isinstance(x1, NDArray) else x2).tensor.device
    return finish(unmoved(_from_numpy(onp.asarray(onp.lcm(_to_numpy(x1), _to_numpy(x2))), device), x1, x2), out)


def of_numpy(name: str) -> Callable[..., Any]:
    """A function of NumPy that takes and gives arrays of `mx.np`; without gradients."""
    function = getattr(onp, name, None) or _removed(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        device = next((x.tensor.device for x in (*args, *kwargs.values()) if isinstance(x, NDArray)), None)
        y = function(*_to_numpy(args), **_to_numpy(kwargs))
        # the original computes some of them itself: they give arrays where NumPy gives its numbers
        return _from_numpy(y if name in NAMES or not isinstance(y, onp.generic) else onp.asarray(y), device)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}`; no gradient."
    return call


def _of(name: str) -> Callable[..., Any]:
    return next(getattr(m, name) for m in (_functions, _shapes, _picking, _products) if hasattr(m, name))


# The arguments of methods are in NumPy's order, which that of MXNet's functions is not in all cases.
def _reducing(name: str) -> Callable[..., Any]:
    function = _of(name)
    return lambda self, axis=None, out=None, keepdims=False: function(self, axis=axis, out=out, keepdims=keepdims)


def _summing(name: str) -> Callable[..., Any]:
    function = _of(name)

    def method(self, axis=None, dtype=None, out=None, keepdims=False):  # type: ignore[no-untyped-def]
        return function(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    return method


def _spreading(name: str) -> Callable[..., Any]:
    function = _of(name)

    def method(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):  # type: ignore[no-untyped-def]
        return function(self, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)

    return method


_f, _s, _p = _functions, _shapes, _picking
_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _reducing(name) for name in ("max", "min", "any", "all")},
    **{name: _summing(name) for name in ("sum", "prod", "mean")},
    **{name: _spreading(name) for name in ("var", "std")},
    "argmax": lambda self, axis=None, out=None: _f.argmax(self, axis, out),
    "argmin": lambda self, axis=None, out=None: _f.argmin(self, axis, out),
    "argsort": lambda self, axis=-1, kind=None, order=None: _f.argsort(self, axis, kind, order),
    "broadcast_to": lambda self, shape: _s.broadcast_to(self, shape),
    "cumsum": lambda self, axis=None, dtype=None, out=None: _f.cumsum(self, axis, dtype, out),
    "diagonal": lambda self, offset=0, axis1=0, axis2=1: _p.diagonal(self, offset, axis1, axis2),
    "dot": lambda self, b, out=None: _products.dot(self, b, out),
    "nonzero": lambda self: _f.nonzero(self),
    "ravel": lambda self, order="C": _s.ravel(self, order),
    "repeat": lambda self, repeats, axis=None: _p.repeat(self, repeats, axis),
    "round": lambda self, decimals=0, out=None, **kwargs: _f.round(self, decimals, out, **kwargs),
    "squeeze": lambda self, axis=None: _s.squeeze(self, axis),
    "swapaxes": lambda self, axis1, axis2: _s.swapaxes(self, axis1, axis2),
    "take": lambda self, indices, axis=None, mode="raise": _p.take(self, indices, axis, mode),
    "trace": lambda self, offset=0, axis1=0, axis2=1, out=None: _p.trace(self, offset, axis1, axis2, out),
}
for _name, _body in _METHODS.items():
    _body.__name__, _body.__qualname__, _body.__doc__ = _name, f"ndarray.{_name}", _of(_name).__doc__
    setattr(ndarray, _name, _body)


def _reshape(self: ndarray, *args: Any, order: str = "C", **kwargs: Any) -> ndarray:
    """The same elements in another shape, given as one tuple or as several lengths."""
    new = kwargs.pop("newshape", kwargs.pop("shape", args[0] if len(args) == 1 else args))
    if kwargs:
        raise TypeError(f"reshape: unexpected arguments {list(kwargs)}")
    return _shapes.reshape(self, new, order=order)


def _reshape_view(self: ndarray, *shape: Any, **kwargs: Any) -> ndarray:
    """The same memory in another shape, as `mx.nd.NDArray.reshape` has it."""
    return NDArray.reshape(self, *shape, **kwargs)


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


for _function in (_reshape, _reshape_view, _transpose, _flatten, _sort, _clip):
    _function.__name__ = _function.__name__[1:]
    _function.__qualname__ = f"ndarray.{_function.__name__}"
    setattr(ndarray, _function.__name__, _function)


@method_of(NDArray)
def as_np_ndarray(self: NDArray) -> ndarray:
    """The array as one of `mxnet.np`, on the same memory and with the same history."""
    return ndarray._around(self)


def _updating(name: str) -> Callable[..., Any]:
    function = _of(name)
    return lambda self, other: function(self, other, out=self)


for _slot, _name in (("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor"), ("matmul", "matmul")):
    setattr(ndarray, f"__i{_slot}__", _updating(_name))
for _name in ("ceil", "floor", "trunc"):
    setattr(ndarray, f"__{_name}__", (lambda f: lambda self: f(self))(_of(_name)))
ndarray.__round__ = lambda self, n=0: _functions.round(self, n)  # type: ignore[attr-defined]
