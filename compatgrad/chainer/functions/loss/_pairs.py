"""Losses of two inputs of one shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class _PairLoss(_native.NativeFunction):
    _names = ("x0", "x1")

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, self._names)
        type_check.expect(in_types[0].shape == in_types[1].shape)


_DOC = """{formula}.

    Args:
        x0, x1: floating, of one dtype and shape.

    Returns:
        Variable of {shape} and the dtype of `x0`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or `x0` is not floating-point.

    Example:
        >>> F.{name}(np.array([1.0, 2.0]), np.array([3.0, 0.5])).array
        {result}

    Source: `chainer.functions.{name}` of Chainer 7.8.1.
    """


def function(
    cls: type[_PairLoss], formula: str, shape: str, result: str
) -> Callable[[VariableOrArray, VariableOrArray], Variable]:
    """Makes the public function that `cls` computes. For its docstring, `formula` says what is computed, `shape` names
    the shape of the result, and `result` is the result for [1, 2] and [3, 0.5].
    """

    def checked(x0, x1):
        return cls().apply((x0, x1))[0]

    bound = frontend.bind(cls.op, checked)

    def loss(x0: VariableOrArray, x1: VariableOrArray) -> Variable:
        if x0.shape != x1.shape:
            return checked(x0, x1)
        return bound(x0, x1)

    loss.__name__ = loss.__qualname__ = cls.op
    loss.__module__ = cls.__module__
    loss.__doc__ = _DOC.format(formula=formula, name=cls.op, shape=shape, result=result)
    return loss
