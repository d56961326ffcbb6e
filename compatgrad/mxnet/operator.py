"""Operators defined in Python: CustomOp, and the deprecated NumpyOp and NDArrayOp, which are for symbols."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from . import symbol
from ._custom_op import CustomOp, CustomOpProp, _props, get_all_registered_operators, register
from .name import NameManager
from .ndarray import NDArray

__all__ = ["CustomOp", "CustomOpProp", "NDArrayOp", "NumpyOp", "PythonOp", "get_all_registered_operators", "register"]

for _known in (CustomOp, CustomOpProp, get_all_registered_operators, register):
    _known.__module__ = __name__  # the module's name in MXNet, as in pickles

_count = itertools.count()


class PythonOp:
    """Base class of NumpyOp and NDArrayOp; deprecated in favour of CustomOp.

    A subclass defines `forward(in_data, out_data)`, which writes the outputs in place, `backward(out_grad, in_data,
    out_data, in_grad)`, which writes the gradients, `infer_shape`, `list_arguments` and `list_outputs`; the defaults
    are those of the identity.

    Args:
        need_top_grad: whether backward reads `out_grad`, which is empty otherwise.

    Example:
        >>> op = mx.operator.PythonOp()
        >>> op.list_arguments(), op.list_outputs(), op.infer_shape([(2, 3)])
        (['data'], ['output'], ([(2, 3)], [(2, 3)]))

    Source: `mxnet.operator.PythonOp` of MXNet 1.9.1.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.info_ = None
        self.need_top_grad_ = need_top_grad
        warnings.warn("PythonOp has been deprecated. Please use CustomOp", stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """The symbol of this operator on symbols, given by position or by name."""
        raise NotImplementedError("Must override this")

    def forward(self, in_data: Any, out_data: Any) -> None:
        """Writes the outputs."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
        """Writes the gradients of the inputs."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[Any]) -> Any:
        """(shapes of the inputs, shapes of the outputs) from those of the inputs."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether backward reads `out_grad`."""
        return self.need_top_grad_

    def _symbol(self, hint: str, make: type[CustomOp], args: Any, kwargs: Any) -> Any:
        op_type = f"{hint}_{next(_count)}"
        _props[op_type] = lambda: _Prop(self, make)
        name = NameManager._current.value.get(kwargs.pop("name", None), hint)
        return symbol.Custom(*args, op_type=op_type, name=name, **kwargs)


class _Prop(CustomOpProp):
    """A CustomOpProp that asks a PythonOp for shapes and names."""

    def __init__(self, python_op: PythonOp, make: Any) -> None:
        super().__init__(python_op.need_top_grad())
        self._op, self._make = python_op, make

    def infer_shape(self, in_shape: list[Any]) -> Any:
        inputs, outputs = self._op.infer_shape(in_shape)
        return inputs, outputs, []

    def list_outputs(self) -> list[str]:
        return self._op.list_outputs()

    def list_arguments(self) -> list[str]:
        return self._op.list_arguments()

    def create_operator(self, ctx: Any, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        return self._make(self._op)


class _OnArrays(CustomOp):
    """Runs an NDArrayOp."""

    def __init__(self, python_op: PythonOp) -> None:
        self._op = python_op

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self._op.forward(in_data=in_data, out_data=out_data)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self._op.backward(out_grad=out_grad, in_data=in_data, out_data=out_data, in_grad=in_grad)


class _OnNumPy(_OnArrays):
    """Runs a NumpyOp on copies in NumPy, and writes the results back."""

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        results = [np.zeros(y.shape, y.dtype) for y in out_data]
        self._op.forward(in_data=_copies(in_data), out_data=results)
        for i, y in enumerate(results):
            self.assign(out_data[i], req[i], y)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        results = [np.zeros(g.shape, g.dtype) for g in in_grad]
        top = _copies(out_grad) if self._op.need_top_grad() else []
        self._op.backward(out_grad=top, in_data=_copies(in_data), out_data=_copies(out_data), in_grad=results)
        for i, g in enumerate(results):
            self.assign(in_grad[i], req[i], g)


def _copies(arrays: list[NDArray]) -> list[np.ndarray]:
    return [x.asnumpy() for x in arrays]


class NumpyOp(PythonOp):
    """An operator that a subclass computes with NumPy, for symbols; deprecated in favour of CustomOp.

    Its methods are those of PythonOp, with NumPy arrays.

    Args:
        need_top_grad: whether backward reads `out_grad`, which is empty otherwise.

    Example:
        >>> class Twice(mx.operator.NumpyOp):
        ...     def forward(self, in_data, out_data):
        ...         out_data[0][:] = 2 * in_data[0]
        ...     def backward(self, out_grad, in_data, out_data, in_grad):
        ...         in_grad[0][:] = 2 * out_grad[0]
        >>> y = Twice()(mx.sym.var("x"), name="twice")
        >>> y.eval(x=nd.array([1, 2]))[0].asnumpy()
        array([2., 4.], dtype=float32)

    Source: `mxnet.operator.NumpyOp` of MXNet 1.9.1.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        super().__init__(need_top_grad)
        warnings.warn("NumpyOp has been deprecated. Please use CustomOp", stacklevel=2)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """The symbol of this operator on symbols, given by position or by name."""
        return self._symbol("_native", _OnNumPy, args, kwargs)


class NDArrayOp(PythonOp):
    """An operator that a subclass computes with NDArrays, for symbols; deprecated in favour of CustomOp.

    Its methods are those of PythonOp, with NDArrays.

    Args:
        need_top_grad: whether backward reads `out_grad`, which is empty otherwise.

    Example:
        >>> class Twice(mx.operator.NDArrayOp):
        ...     def forward(self, in_data, out_data):
        ...         out_data[0][:] = 2 * in_data[0]
        >>> Twice()(mx.sym.var("x")).eval(x=nd.array([1, 2]))[0].asnumpy()
        array([2., 4.], dtype=float32)

    Source: `mxnet.operator.NDArrayOp` of MXNet 1.9.1.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        super().__init__(need_top_grad)
        warnings.warn("NDArrayOp has been deprecated. Please use CustomOp", stacklevel=2)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """The symbol of this operator on symbols, given by position or by name."""
        return self._symbol("_ndarray", _OnArrays, args, kwargs)

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """The arrays that backward reads; here all arrays are kept."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]
