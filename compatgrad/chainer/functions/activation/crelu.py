"""Concatenated rectified linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_concat = frontend.bind("concat", dtype="any")
_neg = frontend.bind("neg", dtype="any")
_relu = frontend.bind("relu", dtype="any")


class CReLU(_native.NativeFunction):
    documented = "crelu"
    op = None

    def __init__(self, axis: int = 1) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be an integer value, not {type(axis).__name__}")
        super().__init__()
        self.axis = axis

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim > self.axis, in_types[0].ndim >= -self.axis)

    def get_output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result for an input of `input_shape`: `axis` becomes twice as long."""
        shape = list(input_shape)
        shape[self.axis] *= 2
        return tuple(shape)

    def _run_bound(self, inputs):
        (x,) = inputs
        return _concat._apply_as(self, [_relu(x), _relu(_neg(x))], self.axis)


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
