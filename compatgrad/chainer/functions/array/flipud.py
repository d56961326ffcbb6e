"""Reversal of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class FlipUD(_native.NativeFunction):
    documented = "flipud"

    @type_check._expects
    def check_type_forward(self, a):
        return a.dtype.kind == "f", a.ndim >= 1

    def _run_bound(self, inputs):
        return _bound.flip._apply_as(self, inputs[0], (0,))


def flipud(a: VariableOrArray) -> Variable:
    """`a` in reverse order along the first axis.

    Args:
        a: floating, at least 1 axis.

    Returns:
        Variable of the shape and dtype of `a`.

    Raises:
        chainer.utils.type_check.InvalidType: `a` is not floating-point or has no axis.

    Example:
        >>> F.flipud(np.array([[1.0, 2.0], [3.0, 4.0]])).array
        array([[3., 4.],
               [1., 2.]])

    Source: `chainer.functions.flipud` of Chainer 7.8.1.
    """
    return FlipUD().apply((a,))[0]
