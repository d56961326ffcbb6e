from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import link  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.links.connection._filters import pair as _pair  # noqa: F401  (programs find it here)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class DilatedConvolution2D(_filters.Filter2D):
    """Two-dimensional convolution with dilation; W has shape (out_channels, in_channels, kh, kw).

    `in_channels=None`, or leaving it out, lets the first input tell the number.

    Inputs are floating-point arrays of shape (batch, in_channels, height, width); `Convolution2D(dilate=...)` computes
    the same.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: height and width of the filter, one number for both or a pair.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        dilate: distance between the filter's elements, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.

    Example:
        >>> link = L.DilatedConvolution2D(1, 1, 2, dilate=2, initialW=1)
        >>> link(np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)).array[0, 0]  # the four corners
        array([[16.]], dtype=float32)

    Source: `chainer.links.DilatedConvolution2D` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts | None = None,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        dilate: IntOrInts = 1,
        nobias: bool = False,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
    ) -> None:
        super().__init__()
        in_channels = self._set_filter(in_channels, out_channels, ksize, stride, pad, dilate)
        _weights.register(self, initialW, in_channels, nobias, initial_bias, self.out_channels)

    def _initialize_params(self, in_channels):
        kh, kw = _filters.pair(self.ksize)
        self.W.initialize((self.out_channels, in_channels, kh, kw))

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.dilated_convolution_2d(x, self.W, self.b, self.stride, self.pad, self.dilate)
