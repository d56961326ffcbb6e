"""Reversal of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_flip = frontend.bind("flip", dtype="any")


class FlipUD(_native.NativeFunction):
    documented = "flipud"
    op = None

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("a",))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim >= 1)

    def _run_bound(self, inputs):
        return _flip._apply_as(self, inputs[0], (0,))


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
