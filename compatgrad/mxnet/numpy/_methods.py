"""The methods of `mx.np.ndarray`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._attach import method_of
from ..ndarray.ndarray import NDArray
from . import _creation, _functions, _picking, _products, _reductions, _shapes
from ._array import ndarray


def _of(name: str) -> Callable[..., Any]:
    modules = (_functions, _reductions, _creation, _shapes, _picking, _products)
    return next(getattr(m, name) for m in modules if hasattr(m, name))


# The arguments of methods have NumPy's order, from which that of some of MXNet's functions differs.
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


_c, _r, _s, _p = _creation, _reductions, _shapes, _picking
_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _reducing(name) for name in ("max", "min", "any", "all")},
    **{name: _summing(name) for name in ("sum", "prod", "mean")},
    **{name: _spreading(name) for name in ("var", "std")},
    "argmax": lambda self, axis=None, out=None: _r.argmax(self, axis, out),
    "argmin": lambda self, axis=None, out=None: _r.argmin(self, axis, out),
    "argsort": lambda self, axis=-1, kind=None, order=None: _r.argsort(self, axis, kind, order),
    "broadcast_to": lambda self, shape: _c.broadcast_to(self, shape),
    "cumsum": lambda self, axis=None, dtype=None, out=None: _r.cumsum(self, axis, dtype, out),
    "diagonal": lambda self, offset=0, axis1=0, axis2=1: _p.diagonal(self, offset, axis1, axis2),
    "dot": lambda self, b, out=None: _products.dot(self, b, out),
    "nonzero": lambda self: _r.nonzero(self),
    "ravel": lambda self, order="C": _s.ravel(self, order),
    "repeat": lambda self, repeats, axis=None: _p.repeat(self, repeats, axis),
    "round": lambda self, decimals=0, out=None, **kwargs: _functions.round(self, decimals, out, **kwargs),
    "squeeze": lambda self, axis=None: _s.squeeze(self, axis),
    "swapaxes": lambda self, axis1, axis2: _s.swapaxes(self, axis1, axis2),
    "take": lambda self, indices, axis=None, mode="raise": _p.take(self, indices, axis, mode),
    "trace": lambda self, offset=0, axis1=0, axis2=1, out=None: _p.trace(self, offset, axis1, axis2, out),
}


def _types(method: Callable[..., Any], function: Callable[..., Any]) -> dict[str, str]:
    """Annotates a method like the function that it calls."""
    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount + bool(code.co_flags & 8)]
    return {name: function.__annotations__[name] for name in (*names, "return")}


for _name, _body in _METHODS.items():
    _function = _of(_name)
    _body.__name__, _body.__qualname__, _body.__doc__ = _name, f"ndarray.{_name}", _function.__doc__
    _body.__annotations__ = _types(_body, _function)
    setattr(ndarray, _name, _body)


def _reshape(self: ndarray, *args: Any, order: str = "C", **kwargs: Any) -> ndarray:
    """The same elements in another shape, given as one tuple or as several lengths."""
    new = kwargs.pop("newshape", kwargs.pop("shape", args[0] if len(args) == 1 else args))
    if kwargs:
        raise TypeError(f"reshape: unexpected arguments {list(kwargs)}")
    return _shapes.reshape(self, new, order=order)


def _reshape_view(self: ndarray, *shape: Any, **kwargs: Any) -> ndarray:
    """A view on the same memory in another shape, as `mx.nd.NDArray.reshape` gives it."""
    return NDArray.reshape(self, *shape, **kwargs)


def _transpose(self: ndarray, *axes: Any) -> ndarray:
    """The axes in another order, given as one tuple or as several numbers, or reversed."""
    if not axes or axes == (None,):
        return _shapes.transpose(self)
    return _shapes.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _flatten(self: ndarray, order: str = "C") -> ndarray:
    """A copy with all elements in one axis."""
    return _creation.copy(_shapes.ravel(self, order))


def _sort(self: ndarray, axis: int = -1, kind: Any = None, order: Any = None) -> None:
    """Sorts the array in place."""
    self._check_writable()
    self.tensor.copy_(self.tensor.sort(dim=axis, stable=True).values)


def _clip(self: ndarray, min: Any = None, max: Any = None, out: Any = None) -> ndarray:
    """The elements clipped from below, from above or both."""
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
