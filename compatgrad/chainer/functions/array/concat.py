"""Concatenation along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.core import notes

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.variable import Variable


class Concat(_native.NativeListFunction):
    op = "concat"

    def __init__(self, axis: int = 1) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, not {type(axis).__name__}")
        super().__init__(axis=axis)

    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() > 0)
        type_check.expect(in_types[0].ndim > type_check.make_variable(self.axis, "axis"))
        type_check.expect(-in_types[0].ndim <= self.axis, self.axis < in_types[0].ndim)
        ndim = type_check.eval(in_types[0].ndim)
        axis = self.axis % ndim
        for i in range(1, type_check.eval(in_types.size())):
            type_check.expect(in_types[0].dtype == in_types[i].dtype, in_types[0].ndim == in_types[i].ndim)
            for d in range(ndim):
                if d != axis:
                    type_check.expect(in_types[0].shape[d] == in_types[i].shape[d])


_concat = frontend.bind("concat", lambda xs, axis: Concat(axis).apply(xs)[0], dtype="same")


def concat(xs: VariablesOrArrays, axis: int = 1) -> Variable:
    """Variables or arrays, joined along `axis`.

    Args:
        xs: at least one, all of one dtype and, but for `axis`, of one shape.
        axis: the axis along which they are joined; negative: counted from the last one.

    Returns:
        Variable of the dtype of `xs`.

    Raises:
        TypeError: `axis` is not an int.
        chainer.utils.type_check.InvalidType: `xs` is empty, dtypes or other axes differ, or there is no such axis.

    Example:
        >>> F.concat([np.array([[1.0, 2.0]]), np.array([[3.0]])], axis=1).array
        array([[1., 2., 3.]])

    Source: `chainer.functions.concat` of Chainer 7.8.1.
    """
    if notes.listener is not None and isinstance(xs, _C.Variable):
        notes.note_difference("concat")
    return _concat(xs if isinstance(xs, (list, _C.Variable)) else list(xs), axis)
