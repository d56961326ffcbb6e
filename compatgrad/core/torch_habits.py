"""torch's functions and tensor methods on native Variables: they work as on tensors, or the error says what to
write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core.arrays import refuse_dlpack as _refuse_dlpack
from compatgrad.core.torch_call import call
from compatgrad.core.variable import Variable

__all__: list[str] = []

# the functions that torch calls for operators with a tensor on the left
_OPERATORS: dict[Any, Any] = {
    torch.Tensor.add: _C.op("add"),
    torch.Tensor.sub: _C.op("sub"),
    torch.Tensor.mul: _C.op("mul"),
    torch.Tensor.div: _C.op("div"),
    torch.Tensor.__matmul__: _C.op("matmul"),
    torch.Tensor.matmul: _C.op("matmul"),
    torch.Tensor.pow: _C.op("pow"),
    torch.Tensor.__pow__: _C.op("pow"),
}
# functions whose results are not tensors, or tensors without a gradient
_READERS = frozenset(
    getattr(home, name)
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "equal", "allclose", "is_floating_point", "is_complex", "numel")
    for home in (torch, torch.Tensor)
    if hasattr(home, name)
)


def _values(arguments: Any) -> Any:
    if isinstance(arguments, _C.Variable):
        return arguments.tensor
    if type(arguments) in (list, tuple):
        return type(arguments)(map(_values, arguments))
    return arguments


def _torch_function(cls: type, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
    """Runs a torch function on Variables as one node of their graph, like `interop.call`.

    TypeError for a function that writes into its arguments.
    """
    kwargs = kwargs or {}
    name = getattr(func, "__name__", str(func))
    if func in _READERS:
        return func(*_values(args), **{k: _values(v) for k, v in kwargs.items()})
    if not kwargs and len(args) == 2 and (op := _OPERATORS.get(func)) is not None:
        return op(*args)
    if (name.endswith("_") and not name.endswith("__")) or name == "__setitem__" or kwargs.get("out") is not None:
        raise TypeError(
            f"torch's {name} writes into a tensor, which a Variable's graph cannot record: compute a new one, "
            "or write into `x.tensor` if gradients may ignore the change"
        )
    return call(func, *args, **kwargs)


# What to write instead of a tensor's attribute; for attributes that are not listed there is a general answer.
_WORDS = {
    "data": "x.tensor",
    "numpy": "x.array",
    "tolist": "x.tensor.tolist()",
    "detach": "compatgrad.Variable(x.tensor, requires_grad=False)",
    "requires_grad_": "x.requires_grad, which the constructor takes",
    "grad_fn": "x.creator",
    "is_leaf": "x.creator is None",
    "retain_grad": "backward(retain_grad=True)",
    "cpu": "x.to('cpu')",
    "cuda": "x.to('cuda')",
    "float": "x.to(torch.float32)",
    "double": "x.to(torch.float64)",
    "half": "x.to(torch.float16)",
    "dim": "x.ndim",
    "numel": "x.size",
    "view": "x.reshape(...)",
    "permute": "x.transpose(...)",
    "register_hook": "a compatgrad.FunctionHook",
}
_OPS = frozenset(_C.op_names())


def _missing(self: Variable, name: str) -> Any:
    """Raises AttributeError, which for an attribute of tensors says what to write instead."""
    text = f"{type(self).__name__!r} object has no attribute {name!r}"
    if not name.startswith("_") and hasattr(torch.Tensor, name):
        if name.endswith("_") and name not in _WORDS:
            text += ": a Variable cannot be changed in place; compute a new one"
        else:
            general = f"compatgrad.ops.{name}(x)" if name in _OPS else f"interop.call(torch.Tensor.{name}, x, ...)"
            text += f"; write {_WORDS.get(name, general)}"
    raise AttributeError(text, name=name, obj=self)


def _device(self: Variable) -> torch.device:
    """The device of the data; ValueError if there is none."""
    return self._initialized("device").device


_cast, _to_device = _C.op("cast"), _C.op("to_device")


def _to(self: Variable, *args: Any, **kwargs: Any) -> Variable:
    """The Variable in another dtype or on another device, recorded; the Variable itself if nothing changes.

    The arguments are those of `torch.Tensor.to`: a dtype, a device, both, or a tensor or Variable that has them.
    ValueError if there is no data, TypeError for other arguments.

        >>> import torch
        >>> import compatgrad
        >>> x = compatgrad.Variable(torch.ones(2))
        >>> y = x.to(torch.float64)
        >>> y.sum().backward()
        >>> y.dtype, x.grad.dtype
        (torch.float64, torch.float32)
    """
    x = self._initialized("to")
    device, dtype, *_ = torch._C._nn._parse_to(*_values(args), **{k: _values(v) for k, v in kwargs.items()})
    y: Any = self
    if dtype is not None and dtype != x.dtype:
        y = _cast(y, dtype)
    if device is not None and device != x.device:
        y = _to_device(y, str(device))
    return y  # type: ignore[no-any-return]


def _one(self: Variable, who: str) -> Any:
    x = self._initialized(who)
    if x.numel() != 1:
        raise RuntimeError(
            f"{who} of a Variable of shape {tuple(x.shape)}: expected one element; for several, index one of them, "
            "or take a sum, x.tensor.any() or x.tensor.all()"
        )
    return x.item()


def _number(kind: Callable[[Any], Any]) -> Callable[[Variable], Any]:
    def convert(self: Variable) -> Any:
        return kind(_one(self, kind.__name__))

    convert.__doc__ = f"`{kind.__name__}` of the only element; RuntimeError if there are more."
    return convert


def _format(self: Variable, spec: str) -> str:
    """The only number in the given format, as for a tensor; without a format, the text of the Variable.

    TypeError if there is a format and more than one number.
    """
    if not spec:
        return str(self)
    if self._initialized("format").ndim:
        raise TypeError(
            f"format {spec!r} of a Variable of shape {tuple(self.shape)}: expected shape (); if there is one element, "
            "format x.item()"
        )
    return format(self.item(), spec)


def _comparison(name: str) -> Callable[[Variable, Any], Any]:
    compare = getattr(torch, name)

    def apply(self: Variable, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            other = torch.from_numpy(other)
        elif isinstance(other, _C.Variable):
            other = other.tensor
        elif not isinstance(other, (torch.Tensor, bool, int, float, complex, np.number)):
            return NotImplemented
        x = self.tensor
        return NotImplemented if x is None or other is None else compare(x, other)

    apply.__doc__ = f"`torch.{name}` of the data, element by element: a tensor of booleans, which has no gradient."
    return apply


def _array(self: Variable, dtype: Any = None, copy: Any = None) -> Any:
    """Raises TypeError, because a NumPy array would lose the graph; `x.array` is the value."""
    raise TypeError("a Variable is not converted to a NumPy array, which would lose its graph: x.array is its value")


def _attach(methods: dict[str, Any]) -> None:
    for name, method in methods.items():
        if callable(method):
            method.__name__, method.__qualname__ = name, f"Variable.{name}"
        setattr(Variable, name, method)


_attach({f"__{name}__": _comparison(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")})
_attach({f"__{kind.__name__}__": _number(kind) for kind in (bool, int, float, complex)})
Variable.__hash__ = _C.Variable.__hash__  # type: ignore[method-assign]  # by identity, because == compares elements
_attach({"__getattr__": _missing, "__format__": _format, "__array__": _array, "to": _to})
_attach({"device": property(_device)})
_refuse_dlpack(Variable, "x.tensor")
Variable.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
