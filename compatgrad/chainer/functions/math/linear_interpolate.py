"""Linear interpolation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class LinearInterpolate(_native.NativeFunction):
    documented = "linear_interpolate"

    @type_check._expects
    def check_type_forward(self, p, x, y):
        return p.dtype.kind == "f", x.dtype == p.dtype, y.dtype == p.dtype, p.shape == x.shape, p.shape == y.shape

    def _run_bound(self, inputs):
        p, x, y = inputs
        return _bound.add._apply_as(self, _bound.mul(p, x), _bound.mul(_bound.rsub_scalar(p, 1), y))


def linear_interpolate(p: VariableOrArray, x: VariableOrArray, y: VariableOrArray) -> Variable:
    """p * x + (1 - p) * y, element-wise.

    Args:
        p: floating, any shape: the weights of `x`.
        x: of the dtype and shape of `p`.
        y: of the dtype and shape of `p`.

    Returns:
        Variable of their dtype and shape.

    Raises:
        chainer.utils.type_check.InvalidType: `p` is not floating-point, or dtypes or shapes differ.

    Example:
        >>> F.linear_interpolate(np.array([0.25]), np.array([4.0]), np.array([8.0])).array
        array([7.])

    Source: `chainer.functions.linear_interpolate` of Chainer 7.8.1.
    """
    return LinearInterpolate().apply((p, x, y))[0]
