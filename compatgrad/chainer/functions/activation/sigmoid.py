"""Logistic sigmoid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class SigmoidGrad(_composed.ComposedFunction):
    """The gradient of `sigmoid` with respect to its input, as a function of the output `y` and of `gy`, the gradient of
    the output.

    Args:
        inputs: a sequence with the input of `sigmoid`, which is kept as `x`; the gradient needs `y` alone.

    Example:
        >>> node = F.activation.sigmoid.SigmoidGrad((np.array([0.0]),))
        >>> node.apply((np.array([0.5]), np.array([1.0])))[0].array
        array([0.25])

    Source: `chainer.functions.activation.sigmoid.SigmoidGrad` of Chainer 7.8.1.
    """

    def __init__(self, inputs: Sequence[NdArray | None]) -> None:
        super().__init__()
        self.x = inputs[0]

    @type_check._expects
    def check_type_forward(self, y, gy):
        return y.dtype.kind == "f", gy.dtype.kind == "f"

    def compose(self, y: Variable, gy: Variable) -> Variable:
        """gy * (y - y * y), of the shape and dtype of `gy`."""
        return gy * (y - y * y)


Sigmoid, sigmoid = _native.unary(
    "Sigmoid", "1 / (1 + exp(-x)), element-wise.", "[-2.0, 0.0]", "[0.11920292, 0.5       ]", base=_native.Elementwise
)
