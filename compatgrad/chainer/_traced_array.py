"""What `Variable.array` is while a network is traced on tensors without values: its shape and dtype."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from torch._subclasses.fake_tensor import FakeTensor

from compatgrad import _C
from compatgrad.chainer import backend
from compatgrad.chainer.variable import Variable

__all__ = ["shapes_only"]


class TracedArray:
    """An array without values. Old programs read `x.data.shape`; everything else raises RuntimeError."""

    def __init__(self, variable: Any) -> None:
        self.shape, self.dtype = tuple(variable.shape), np.dtype(variable.dtype)
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"{name} reads values of its array, which has only a shape and a dtype in a trace")


def _refuse(name: str) -> Any:
    def method(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name} reads values of its array, which has only a shape and a dtype in a trace")

    return method


for _name in (
    "__array__ __array_ufunc__ __array_function__ __bool__ __float__ __int__ __index__ __iter__ __getitem__ "
    "__setitem__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ "
    "__truediv__ __rtruediv__ __pow__ __rpow__ __neg__ __abs__ __matmul__ __rmatmul__ __hash__"
).split():
    setattr(TracedArray, _name, _refuse(_name))


@contextlib.contextmanager
def shapes_only() -> Iterator[None]:
    """In the block, `Variable.array` and `Variable.data` of Variables without values have only shapes and dtypes, which
    the checks of functions accept as arrays."""
    types, compatible = backend.get_array_types, backend.is_arrays_compatible
    own = {name: Variable.__dict__.get(name) for name in ("array", "data")}
    getter: Any = _C.Variable.array

    def read(variable: Any) -> Any:
        return TracedArray(variable) if isinstance(variable.tensor, FakeTensor) else getter.__get__(variable)

    for name in own:
        setattr(Variable, name, property(read, getter.__set__))
    backend.get_array_types = lambda: (*types(), TracedArray)
    backend.is_arrays_compatible = lambda arrays: compatible([a for a in arrays if not isinstance(a, TracedArray)])
    from compatgrad.chainer.functions._composed import ComposedFunction  # which imports this package

    def apply(function: Any, inputs: Any) -> tuple[Any, ...]:
        y = function.compose(*[x if isinstance(x, Variable) else Variable(x, requires_grad=False) for x in inputs])
        return y if isinstance(y, tuple) else (y,)

    composed: Any = ComposedFunction
    composed.apply = apply  # the functions that it consists of are traced, too
    try:
        yield
    finally:
        del composed.apply
        backend.get_array_types, backend.is_arrays_compatible = types, compatible
        for name, before in own.items():
            if before is None:
                delattr(Variable, name)
            else:
                setattr(Variable, name, before)
