"""Swish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.activation.prelu import _expect_parameter
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Swish(_native.NativeFunction):
    op = "swish"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x", "beta"))
        _expect_parameter(*in_types)


def _checked(x, beta):
    return Swish().apply((x, beta))[0]


_swish = frontend.bind("swish", _checked)


def swish(x: VariableOrArray, beta: VariableOrArray) -> Variable:
    """x * sigmoid(beta * x), element-wise.

    Args:
        x: floating, (n, ...), n samples.
        beta: of the dtype of `x`; its shape is that of the first axes of a sample: () for one number, (c,) for one
            per channel.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or `beta` has another dtype or shape.

    Example:
        >>> F.swish(np.array([[-1.0, 2.0]]), np.array([1.0, 0.0])).array
        array([[-0.26894142,  1.        ]])

    Source: `chainer.functions.swish` of Chainer 7.8.1; Ramachandran et al. 2017.
    """
    shape = beta.shape
    return (_swish if x.shape[1 : 1 + len(shape)] == shape else _checked)(x, beta)
