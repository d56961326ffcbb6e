"""Parametric rectified linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _expect_parameter(x, w):
    """Checks that the shape of `w` is that of the first axes of a sample, those of `x` after the batch axis."""
    type_check.expect(x.dtype.kind == "f", w.dtype == x.dtype, x.ndim >= w.ndim + 1)
    type_check.expect(x.shape[1 : 1 + type_check.eval(w.ndim)] == w.shape)


class PReLUFunction(_native.NativeFunction):
    op = "prelu"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x", "W"))
        _expect_parameter(*in_types)


def _checked(x, W):
    return PReLUFunction().apply((x, W))[0]


_prelu = frontend.bind("prelu", _checked)


def prelu(x: VariableOrArray, W: VariableOrArray) -> Variable:
    """`x` where it is positive, else `W * x` with learned slopes `W`.

    Args:
        x: floating, (n, ...), n samples.
        W: of the dtype of `x`; its shape is that of the first axes of a sample: () for one slope, (c,) for one per
            channel.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or `W` has another dtype or shape.

    Example:
        >>> F.prelu(np.array([[-1.0, -1.0, 2.0]]), np.array([0.1, 0.5, 0.5])).array
        array([[-0.1, -0.5,  2. ]])

    Source: `chainer.functions.prelu` of Chainer 7.8.1; He et al. 2015.
    """
    shape = W.shape
    return (_prelu if x.shape[1 : 1 + len(shape)] == shape else _checked)(x, W)
