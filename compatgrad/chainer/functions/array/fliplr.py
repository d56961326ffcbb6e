"""Reversal of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class FlipLR(_native.NativeFunction):
    documented = "fliplr"

    @type_check._expects
    def check_type_forward(self, a):
        return a.dtype.kind == "f", a.ndim >= 2

    def _run_bound(self, inputs):
        return _bound.flip._apply_as(self, inputs[0], (1,))


def fliplr(a: VariableOrArray) -> Variable:
    """`a` in reverse order along the second axis.

    Args:
        a: floating, at least 2 axes.

    Returns:
        Variable of the shape and dtype of `a`.

    Raises:
        chainer.utils.type_check.InvalidType: `a` is not floating-point or has fewer than 2 axes.

    Example:
        >>> F.fliplr(np.array([[1.0, 2.0], [3.0, 4.0]])).array
        array([[2., 1.],
               [4., 3.]])

    Source: `chainer.functions.fliplr` of Chainer 7.8.1.
    """
    return FlipLR().apply((a,))[0]
