"""Permutation of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Transpose(_native.NativeFunction):
    op = "transpose"

    def __init__(self, axes: Sequence[int] | None = None) -> None:
        super().__init__(axes=axes)

    axes = _native.parameter("axes")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1, in_types[0].ndim >= 0)


_transpose = frontend.bind("transpose", lambda x, axes=None: Transpose(axes).apply((x,))[0], dtype="any")


def transpose(x: VariableOrArray, axes: Sequence[int] | None = None) -> Variable:
    """`x` with its axes in another order.

    Args:
        x: any dtype and shape.
        axes: the axes of `x` in their new order; None reverses them.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        ValueError: `axes` has another length, or an axis twice.
        IndexError: `x` has no such axis.

    Example:
        >>> F.transpose(np.zeros((2, 3, 4)), (1, 0, 2)).shape
        (3, 2, 4)

    Source: `chainer.functions.transpose` of Chainer 7.8.1.
    """
    return _transpose(x, axes)
