"""Concatenated rectified linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class CReLU(_native.NativeFunction):
    documented = "crelu"

    def __init__(self, axis: int = 1) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be an integer value, not {type(axis).__name__}")
        super().__init__()
        self.axis = axis

    @type_check._expects
    def check_type_forward(self, x):
        return x.dtype.kind == "f", x.ndim > self.axis, x.ndim >= -self.axis

    def get_output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result for an input of `input_shape`: `axis` becomes twice as long."""
        shape = list(input_shape)
        shape[self.axis] *= 2
        return tuple(shape)

    def _run_bound(self, inputs):
        (x,) = inputs
        return _bound.concat._apply_as(self, [_bound.relu(x), _bound.relu(_bound.neg(x))], self.axis)


def crelu(x: VariableOrArray, axis: int = 1) -> Variable:
    """`relu(x)` and `relu(-x)`, joined along `axis`.

    Args:
        x: floating, any shape that has `axis`.
        axis: the axis that becomes twice as long.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `axis` is not an int.
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or has no such axis.

    Example:
        >>> F.crelu(np.array([[-1.0, 2.0]])).array
        array([[0., 2., 1., 0.]])

    Source: `chainer.functions.crelu` of Chainer 7.8.1; Shang et al. 2016.
    """
    return CReLU(axis).apply((x,))[0]
