"""Rectified linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed, _native

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class ReLUGrad2(_composed.ComposedFunction):
    """The gradient of `relu` with respect to its input, as a function of `gy`, the gradient of the output.

    Args:
        b: the output of `relu`, of the shape of `gy`.

    Example:
        >>> node = F.activation.relu.ReLUGrad2(np.array([0.0, 3.0]))
        >>> node.apply((np.array([1.0, 2.0]),))[0].array
        array([0., 2.])

    Source: `chainer.functions.activation.relu.ReLUGrad2` of Chainer 7.8.1.
    """

    def __init__(self, b: NdArray) -> None:
        super().__init__()
        self.b = b

    def compose(self, gy: Variable) -> Variable:
        """gy * (b > 0), of the shape and dtype of `gy`."""
        return gy * (self.b > 0).astype(gy.dtype)


ReLU, relu = _native.unary("ReLU", "max(x, 0), element-wise.", "[-1.0, 2.0]", "[0., 2.]", base=_native.Elementwise)
