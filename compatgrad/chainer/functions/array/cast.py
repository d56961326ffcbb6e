"""Change of dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import DType, VariableOrArray, VariablesOrArrays
    from compatgrad.chainer.variable import Variable


class Cast(_native.NativeFunction):
    op = "cast"

    def __init__(self, typ: DType) -> None:
        super().__init__(dtype=numpy.dtype(typ))

    type = _native.parameter("dtype")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))


_cast = frontend.bind("cast", lambda x, typ: Cast(typ).apply((x,))[0])


def cast(x: VariableOrArray, typ: DType) -> Variable:
    """`x` in another dtype; its gradient is cast back.

    Args:
        x: any dtype and shape.
        typ: dtype of the result, or its name.

    Returns:
        Variable of the shape of `x`; `x` itself where it is a Variable of that dtype and nothing is
        recorded.

    Raises:
        TypeError: `typ` names no dtype.

    Example:
        >>> F.cast(np.array([1.5, 2.0]), "float32").array
        array([1.5, 2. ], dtype=float32)

    Source: `chainer.functions.cast` of Chainer 7.8.1.
    """
    if x.dtype == typ and not (isinstance(x, _C.Variable) and _C.get_mode("enable_backprop")):
        return as_variable(x)
    return _cast(x, typ)


def promoted(*xs: VariableOrArray) -> list[VariableOrArray]:
    """The floating `xs` in the dtype to which NumPy promotes them.

    Args:
        *xs: at least one, floating, any shapes.

    Returns:
        List of the inputs: those of that dtype unchanged, the others cast, as Variables.

    Raises:
        ValueError: no arguments.

    Example:
        >>> x, y = F.array.cast.promoted(np.array([1.0], "float32"), np.array([2.0]))
        >>> x.dtype, y.dtype
        (dtype('float64'), dtype('float64'))

    Source: compatgrad's own; in Chainer 7.8.1 NumPy promotes the arrays.
    """
    dtype = numpy.result_type(*[x.dtype for x in xs])
    return [x if x.dtype == dtype else _cast(x, dtype) for x in xs]


def in_first_dtype(inputs: VariablesOrArrays) -> VariablesOrArrays:
    """The inputs in the dtype of the first one, for ops that take one dtype.

    Args:
        inputs: at least one, any shapes.

    Returns:
        The inputs unchanged where dtypes agree, else a tuple in which those of another dtype are cast.

    Raises:
        IndexError: no inputs.

    Example:
        >>> x, y = F.array.cast.in_first_dtype((np.array([1.0], "float32"), np.array([2.0])))
        >>> x.dtype, y.dtype
        (dtype('float32'), dtype('float32'))

    Source: compatgrad's own; in Chainer 7.8.1 NumPy promotes the arrays.
    """
    dtype = inputs[0].dtype
    if all([x.dtype == dtype for x in inputs[1:]]):
        return inputs
    return tuple([x if x.dtype == dtype else cast(x, dtype) for x in inputs])
