"""Hyperbolic tangent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed, _native

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class TanhGrad(_composed.ComposedFunction):
    """The gradient of `tanh` with respect to its input, as a function of the output `y` and of `gy`, the gradient of
    the output.

    Args:
        x: the input of `tanh`, which is kept as an attribute; the gradient needs `y` alone.

    Example:
        >>> node = F.activation.tanh.TanhGrad(np.array([0.0]))
        >>> node.apply((np.array([0.5]), np.array([1.0])))[0].array
        array([0.75])

    Source: `chainer.functions.activation.tanh.TanhGrad` of Chainer 7.8.1.
    """

    def __init__(self, x: NdArray | None) -> None:
        super().__init__()
        self.x = x

    def compose(self, y: Variable, gy: Variable) -> Variable:
        """gy * (1 - y * y), of the shape and dtype of `gy`."""
        return gy * (1 - y * y)


Tanh, tanh = _native.unary(
    "Tanh", "Hyperbolic tangent, element-wise.", "[-1.0, 0.0]", "[-0.76159416,  0.        ]", base=_native.Elementwise
)
