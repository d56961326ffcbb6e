"""`mx.np.ndarray`: an NDArray that behaves like NumPy's (arrays without axes, boolean masks, promotion of dtypes)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from compatgrad import _C
from compatgrad.core.configuration import using_modes
from compatgrad.core.entering import let_in

from .._frontend import as_np_ndarrays, fe
from ..base import MXNetError
from ..ndarray import _elementwise, _indexing
from ..ndarray._operator import op as op
from ..ndarray._operator import write
from ..ndarray.ndarray import NDArray, _on, is_recording, torch_dtype

__all__ = ["ndarray"]

# Where an input is an mx.np.ndarray, ops of the frontend of mx.nd give arrays of this frontend.
fe_np = _C.Frontend("mxnet.np", "numpy")
fe_np.on_request = True
fe_np.base = fe
_enter = let_in("mxnet")
fe_np.enter = lambda value: as_np_ndarrays(_enter(value))

_view_as_np = fe_np.bind("reshape", None, "any", "as_np_ndarray")
_view_as_nd = fe.bind("reshape", None, "any", "as_nd_ndarray")
_share_place = getattr(_C, "share_place", None)
_data_dtype = _C.Variable.dtype.__get__
NUMBERS = (bool, int, float, onp.generic)


def _alias(x: NDArray, cls: type[NDArray], view: Callable[..., Any]) -> Any:
    """x as an array of another class, with the same memory and the same place in the graph."""
    if _share_place is not None:
        y = cls.__new__(cls)
        _C.Variable.__init__(y, x.tensor, False)
        _share_place(y, x)
    else:
        y = view(x, shape=x.shape)
    return _on(y, x.context)


class ndarray(NDArray):
    """An array on a device that behaves like NumPy's: any number of axes, boolean masks, promotion of dtypes.

    `mx.np.array` makes arrays of numbers; methods do what the functions of `mx.np` of their names do. Operators run at
    once; inside `autograd.record()` those on marked arrays are recorded.

    Args:
        handle: a tensor, or another array, whose memory the array shares; None is no memory.
        writable: whether assignments may write to it.

    Raises:
        TypeError: `handle` is something else.

    Example:
        >>> x = mx.np.array([[1, 2], [3, 4]])
        >>> x[x > 2].sum()
        array(7.)

    Source: `mxnet.np.ndarray` of MXNet 1.9.1.
    """

    _frontend = fe_np
    _zero_dim = True
    __array_priority__ = 1000.0

    @classmethod
    def _around(cls, x: NDArray) -> ndarray:
        return x if isinstance(x, ndarray) else _alias(x, cls, _view_as_np)

    def as_np_ndarray(self) -> ndarray:
        """Itself."""
        return self

    def as_nd_ndarray(self) -> NDArray:
        """The array as an `mx.nd.NDArray`, on the same memory and with the same history."""
        return _alias(self, NDArray, _view_as_nd)

    @property
    def dtype(self) -> onp.dtype:  # type: ignore[override]
        """NumPy's dtype of the elements."""
        return _data_dtype(self)

    @property
    def T(self) -> ndarray:
        """The array with its axes in reverse order."""
        return _C.own(op.transpose(self), self)

    def __repr__(self) -> str:
        with onp.printoptions():  # the program's own print options of NumPy do not apply
            text = onp.array2string(self.asnumpy(), separator=", ", prefix="array(") if self.size else "[]"
        if not self.size:
            text += f", shape={self.shape}"
        text = (
            f"array({text})"
            if self.tensor.dtype in (torch.float32, torch.bool)
            else f"array({text}, dtype={self.dtype})"
        )
        return text if self.context.device_type == "cpu" else f"{text[:-1]}, ctx={self.context})"

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return format(self.item() if not self.shape else self.asnumpy(), spec)  # NumPy's TypeError for arrays with axes

    __hash__ = NDArray.__hash__

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError("The truth value of an ndarray with multiple elements is ambiguous; use any() or all()")
        return bool(self.size and self.tensor.item())

    def __contains__(self, value: Any) -> bool:
        return bool((self.tensor == (value.tensor if isinstance(value, NDArray) else value)).any())

    def item(self, *args: int) -> Any:
        """One element as a Python number: the only one, or the one at a flat or a full index."""
        return self.asnumpy().item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.asnumpy().tolist()

    # ---- indexing: as NumPy, with masks
    def __getitem__(self, key: Any) -> ndarray:
        if type(key) is int and self.shape and -self.shape[0] <= key < self.shape[0]:
            return op.get_item(self, index=key)
        if key == () if isinstance(key, tuple) else False:
            return _view_as_np(self, shape=self.shape)
        x = self
        for axis in _lone_flags(self, key):
            x = op.expand_dims(x, axis=axis)
        return ndarray._around(_indexing.get_item(x, _without_masks(x, key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        x = self
        axes = _lone_flags(self, key)
        if axes:  # a boolean without axes adds an axis of length 1, here to a view
            self._check_writable(value)
            t = self.tensor
            for axis in axes:
                t = t.unsqueeze(axis)
            x = ndarray(t)
        key = _without_masks(x, key)
        if isinstance(key, tuple) and not key:
            key = Ellipsis
        _indexing.set_item(x, key, value)

    def copy(self, order: str = "C") -> ndarray:
        """A new array of the same values."""
        if order != "C":
            raise NotImplementedError(f"copy: order must be 'C', got {order!r}")
        return NDArray.copy(self)

    # ---- operators
    def __eq__(self, other: Any) -> Any:
        return compare("equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return compare("not_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return compare("less", self, other)

    def __le__(self, other: Any) -> Any:
        return compare("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return compare("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return compare("greater_equal", self, other)

    def __mod__(self, other: Any) -> Any:
        return pair("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return pair("mod", other, self)

    def __matmul__(self, other: Any) -> Any:
        return op.matmul(*promoted("matmul", self, other))

    def __rmatmul__(self, other: Any) -> Any:
        return op.matmul(*promoted("matmul", other, self))

    def __and__(self, other: Any) -> ndarray:
        return bitwise("bitwise_and", self, other)

    def __or__(self, other: Any) -> ndarray:
        return bitwise("bitwise_or", self, other)

    def __xor__(self, other: Any) -> ndarray:
        return bitwise("bitwise_xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> ndarray:
        if self.tensor.is_floating_point():
            raise MXNetError(f"invert: only integers and booleans have bits, not {self.dtype}")
        return unmoved(ndarray(~self.tensor), self)

    # ---- gradients
    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Marks the array: `backward` writes ("write"), adds ("add") or leaves out ("null") its gradient."""
        self._mark(self._with_context(ndarray(torch.zeros_like(self.tensor))), grad_req)

    def _with_context(self, y: Any) -> Any:
        return y if self._ctx is None else _on(y, self._ctx)

    def as_in_ctx(self, ctx: Any) -> ndarray:
        """The array on a device; the array itself if it is already on the device."""
        return ndarray._around(NDArray.as_in_context(self, ctx))

    def as_in_context(self, context: Any) -> ndarray:
        """`as_in_ctx`."""
        return self.as_in_ctx(context)

    def copyto(self, other: Any) -> Any:
        """Copies the values into another array, or into a new one on another device."""
        y = NDArray.copyto(self, other)
        return y if isinstance(other, NDArray) else ndarray._around(y)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The array with another dtype; ValueError if `order`, `casting` or `subok` differs from its default."""
        if isinstance(order, bool):  # mx.nd's astype has `copy` as its second argument
            copy = order
        elif order != "K" or casting != "unsafe" or not subok:
            got = f"{order!r}, {casting!r} and {subok!r}"
            raise ValueError(f"astype: order must be 'K', casting 'unsafe' and subok True, got {got}")
        wanted = torch_dtype(dtype, "astype: dtype")
        if self.tensor.dtype == wanted:
            return op.copy(self) if copy else self
        return op.cast(self, dtype=wanted)


fe_np.variable_class = ndarray
ndarray.__module__ = __name__.rpartition(".")[0]  # the module's name in MXNet, as in pickles


def _mask(x: Any) -> torch.Tensor | None:
    if isinstance(x, NDArray) and x.tensor.dtype == torch.bool:
        return x.tensor
    if isinstance(x, onp.ndarray) and x.dtype == onp.bool_:
        return torch.from_numpy(x.copy())
    if isinstance(x, list) and x and all(isinstance(v, (bool, onp.bool_)) for v in x):
        return torch.tensor(x)
    return torch.tensor(bool(x)) if isinstance(x, (bool, onp.bool_)) else None


def _axes_of(k: Any) -> int:
    """The number of the array's axes to which an entry of a key applies."""
    mask = None if k is None or k is Ellipsis else _mask(k)
    return 0 if k is None or k is Ellipsis else mask.dim() if mask is not None else 1


def _taken(before: Any, entries: Any, ndim: int) -> int:
    """The first axis of the array to which the entry after `before` applies."""
    count = sum(_axes_of(k) for k in before)
    if any(k is Ellipsis for k in before):
        count += ndim - sum(_axes_of(k) for k in entries)
    return count


def _begin(before: Any, entries: Any, ndim: int) -> int:
    """Like `_taken`, in the array with the axes that zero-dimensional booleans add."""
    flags = [sum(_is_flag(k) for k in ks) for ks in (before, entries)]
    return _taken(before, entries, ndim - flags[1]) + flags[0]


def _lone_flags(x: NDArray, key: Any) -> list[int]:
    """The places of the axes of length 1 that booleans without axes in a key add, in order."""
    entries = key if isinstance(key, tuple) else (key,)
    lone = [i for i, k in enumerate(entries) if _is_flag(k)]
    return [_taken(entries[:i], entries, x.ndim) + n for n, i in enumerate(lone)]


def _is_flag(k: Any) -> bool:
    """Whether an entry of a key is a boolean without axes."""
    if isinstance(k, NDArray):
        return k.tensor.dtype == torch.bool and not k.tensor.dim()
    return isinstance(k, (bool, onp.bool_)) or (isinstance(k, onp.ndarray) and k.dtype == onp.bool_ and not k.ndim)


def _without_masks(x: NDArray, key: Any) -> Any:
    """The key with masks as arrays of positions."""
    entries = key if isinstance(key, tuple) else (key,)
    if not any(_mask(k) is not None for k in entries):
        return key
    result: list[Any] = []
    for i, k in enumerate(entries):
        mask = _mask(k)
        if mask is None:
            result.append(k)
            continue
        if not mask.dim():  # on its axis of length 1, True selects the element and False none
            result.append(ndarray(torch.zeros(int(mask), dtype=torch.int64, device=x.tensor.device)))
            continue
        axis = _begin(entries[:i], entries, x.ndim)
        if tuple(mask.shape) != x.shape[axis : axis + mask.dim()]:
            raise IndexError(f"boolean index has shape {tuple(mask.shape)}, the array {x.shape}")
        result += [ndarray(p.to(x.tensor.device)) for p in mask.nonzero(as_tuple=True)]
    return tuple(result)


# ---- promotion of types


def is_array(x: Any) -> bool:
    return isinstance(x, NDArray)


def promoted(who: str, *args: Any) -> list[Any]:
    """Converts arrays to one dtype, that of the wider kind, and within a kind the larger one. Numbers stay numbers."""
    arrays = [x for x in args if isinstance(x, NDArray)]
    for x in args:
        if not isinstance(x, (NDArray, *NUMBERS)):
            raise TypeError(f"{who}: type {type(x)} not supported: expected an mx.np.ndarray or a number")
    if not arrays:
        raise TypeError(f"{who}: expected an mx.np.ndarray among the arguments")
    dtype = arrays[0].tensor.dtype
    for x in arrays[1:]:
        dtype = torch.promote_types(dtype, x.tensor.dtype)
    return [op.cast(x, dtype=dtype) if isinstance(x, NDArray) and x.tensor.dtype != dtype else x for x in args]


def floats(x: Any) -> Any:
    """An array of integers as float32."""
    return x if not isinstance(x, NDArray) or x.tensor.is_floating_point() else op.cast(x, dtype=torch.float32)


def pair(name: str, a: Any, b: Any) -> Any:
    """Arithmetic of two arrays or of an array and a number."""
    a, b = promoted(name, a, b)
    first = a if isinstance(a, NDArray) else b
    if first.tensor.dtype == torch.bool and name != "div":
        a, b, truth = _of_booleans(name, a, b)
        if truth:  # the sum of booleans is their logical or, the product their logical and
            y = _elementwise._pair(name, a, b)
            return ndarray._around(op.cast(y, dtype=torch.bool))
    elif name == "div":
        a, b = floats(a), floats(b)
    y = _elementwise._pair(name, a, b)
    whole = name == "mod" and not first.tensor.is_floating_point()
    return unmoved(constant(y.tensor), a, b) if whole else y


def _of_booleans(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Converts booleans to numbers for arithmetic. Also returns whether the result is boolean again."""
    if isinstance(a, NDArray) and isinstance(b, NDArray):
        if name not in ("add", "mul", "maximum", "minimum"):
            raise MXNetError(f"{name}: not supported for two arrays of booleans")
        return *(op.cast(v, dtype=torch.int64) for v in (a, b)), True
    whole = all(isinstance(v, (NDArray, bool, int, onp.integer, onp.bool_)) for v in (a, b))
    kind = torch.int64 if whole else torch.float32
    return *(op.cast(v, dtype=kind) if isinstance(v, NDArray) else v for v in (a, b)), False


_COMPARE = {
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
}


_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def _recorded_comparison(name: str, a: Any, b: Any) -> Any:
    """A comparison that is recorded in the graph, with a gradient of zero."""
    a, b = promoted(name, a, b)
    if isinstance(a, NDArray) and isinstance(b, NDArray):
        y = getattr(op, name)(a, b)
    elif isinstance(a, NDArray):
        y = getattr(op, f"{name}_scalar")(a, value=float(b))
    else:
        y = getattr(op, f"{_MIRRORED.get(name, name)}_scalar")(b, value=float(a))
    return ndarray._around(op.cast(y, dtype=torch.bool))


def compare(name: str, a: Any, b: Any) -> Any:
    """Compares two arrays, or an array and a number; an object of another kind is not equal to any array."""
    x, y = (v.tensor if isinstance(v, NDArray) else v for v in (a, b))
    for v in (x, y):
        if not isinstance(v, (torch.Tensor, *NUMBERS)):
            if name in ("equal", "not_equal") and not isinstance(v, onp.ndarray):
                return name == "not_equal"
            raise TypeError(f"{name}: type {type(v)} not supported: expected an mx.np.ndarray or a number")
    # A number becomes an integer where the array has integers, as in arithmetic.
    if isinstance(x, torch.Tensor) and not isinstance(y, torch.Tensor) and x.dtype in _elementwise.INTEGERS:
        b = y = _indexing.in_range(float(y), x.dtype)
    elif isinstance(y, torch.Tensor) and not isinstance(x, torch.Tensor) and y.dtype in _elementwise.INTEGERS:
        a = x = _indexing.in_range(float(x), y.dtype)
    try:
        if is_recording() and any(isinstance(v, NDArray) and _C.in_graph(v) for v in (a, b)):
            return _recorded_comparison(name, a, b)
        if isinstance(x, torch.Tensor):
            return ndarray(_COMPARE[name](x, y.item() if isinstance(y, onp.generic) else y))
        return ndarray(_COMPARE[_MIRRORED.get(name, name)](y, x.item() if isinstance(x, onp.generic) else x))
    except RuntimeError:
        raise MXNetError(
            f"{name}: operands could not be broadcast together with shapes {tuple(x.shape)} {tuple(y.shape)}"
        ) from None


def bitwise(name: str, a: Any, b: Any) -> ndarray:
    """A bitwise operation on integers or booleans."""
    x, y = (v.tensor if isinstance(v, NDArray) else v for v in (a, b))
    for v in (x, y):
        if isinstance(v, float) or (isinstance(v, torch.Tensor) and v.is_floating_point()):
            raise MXNetError(f"{name}: only integers and booleans have bits")
        if not isinstance(v, (torch.Tensor, bool, int, onp.integer, onp.bool_)):
            raise TypeError(f"{name}: type {type(v)} not supported")
    return unmoved(ndarray(getattr(torch, name)(x, y)), a, b)


for _slot, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "div"), ("pow", "power")):
    fe_np.fallbacks[_slot] = lambda a, b, name=_name: pair(name, a, b)
    fe_np.fallbacks["r" + _slot] = lambda a, b, name=_name: pair(name, b, a)
fe_np.fallbacks["matmul"] = lambda a, b: op.matmul(*promoted("matmul", a, b))
fe_np.fallbacks["rmatmul"] = lambda a, b: op.matmul(*promoted("matmul", b, a))
fe_np.fallbacks["neg"] = lambda x: pair("mul", x, -1)
fe_np.fallbacks["abs"] = lambda x: ndarray(x.tensor.abs())
fe_np.fallbacks["getitem"] = ndarray.__getitem__


def _in_place(name: str) -> Callable[[ndarray, Any], ndarray]:
    def method(self: ndarray, other: Any) -> ndarray:
        self._check_writable(other)
        with using_modes(recording=False):
            return self._write(pair(name, self, other), name)  # type: ignore[return-value]

    return method


for _slot, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("mod", "mod"),
                     ("pow", "power")):  # fmt: skip
    setattr(ndarray, f"__i{_slot}__", _in_place(_name))


def finish(y: Any, out: Any = None) -> Any:
    """The result; where `out` is given, it is written there."""
    return y if out is None else write(out, y)


def constant(t: torch.Tensor) -> ndarray:
    """A result that has no gradient."""
    return ndarray(t)


def unmoved(y: ndarray, *inputs: Any) -> ndarray:
    """A result with gradients of zero, which is in the graph if its inputs are."""
    if is_recording():
        for x in inputs:
            if isinstance(x, NDArray) and _C.in_graph(x):
                y = op.constant_of(x, y)
    return y
