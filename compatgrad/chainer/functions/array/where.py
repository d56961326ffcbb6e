"""Choice between two arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import utils
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class Where(_native.NativeFunction):
    op = "where"

    def __init__(self, condition: NdArray) -> None:
        super().__init__()
        self.condition = condition

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x", "y"))
        x, y = in_types
        condition = type_check._make_variable_from_array(utils.force_array(self.condition), "condition")
        type_check.expect(condition.dtype == numpy.bool_, x.dtype == y.dtype)
        type_check.expect_broadcast_shapes(condition.shape, x.shape, y.shape)

    def _run_bound(self, inputs):
        return self._bound._apply_as(self, utils.force_array(self.condition), *inputs)


_where = frontend.bind("where", lambda condition, x, y: Where(condition).apply((x, y))[0], dtype="any")


def where(condition: VariableOrArray, x: VariableOrArray, y: VariableOrArray) -> Variable:
    """Elements of `x` where the condition is true, of `y` elsewhere.

    Args:
        condition: bool, of a shape that is broadcast with those of `x` and `y`.
        x: any dtype.
        y: of the dtype of `x`.

    Returns:
        Variable of the dtype of `x` and the common shape.

    Raises:
        TypeError: `x` or `y` is neither a Variable nor an array.
        chainer.utils.type_check.InvalidType: `condition` is not of bools, dtypes differ, or shapes cannot be broadcast.

    Example:
        >>> F.where(np.array([True, False]), np.array([1.0, 2.0]), np.array([-1.0, -2.0])).array
        array([ 1., -2.])

    Source: `chainer.functions.where` of Chainer 7.8.1.
    """
    condition = as_array(condition)
    dtypes = [getattr(a, "dtype", None) for a in (condition, x, y)]
    if dtypes[0] == numpy.bool_ and dtypes[1] == dtypes[2]:
        return _where(condition, x, y)
    return Where(condition).apply((x, y))[0]
