from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer.functions as F
from compatgrad.chainer import (
    initializers,
    link,
    variable,  # noqa: F401  programs find it here, as in Chainer
)
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.links.connection._filters import pair as _pair  # noqa: F401  (programs find it here)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class DepthwiseConvolution2D(link.Link):
    """Depthwise convolution: each channel is convolved by itself; W has shape (channel_multiplier, in_channels, kh,
    kw).

    Channel i of the input gives channels i * channel_multiplier to (i + 1) * channel_multiplier - 1 of the result.
    Inputs are floating-point arrays of shape (batch, in_channels, height, width).

    Args:
        in_channels: channels of the input; None takes them from the first input.
        channel_multiplier: number of filters for each channel.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W; None is `HeNormal(1 / sqrt(2))`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.

    Example:
        >>> link = L.DepthwiseConvolution2D(3, 2, 3, pad=1)
        >>> link(np.zeros((1, 3, 5, 5), np.float32)).shape
        (1, 6, 5, 5)

    Source: `chainer.links.DepthwiseConvolution2D` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        channel_multiplier: int,
        ksize: IntOrInts,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
    ) -> None:
        super().__init__()
        self.ksize = ksize
        self.stride = _filters.pair(stride)
        self.pad = _filters.pair(pad)
        self.channel_multiplier = channel_multiplier
        self.nobias = nobias
        if initialW is None:
            initialW = initializers.HeNormal(1.0 / numpy.sqrt(2))
        _weights.register_without_shapes(self, initialW, nobias, initial_bias, in_channels)

    def _initialize_params(self, in_channels):
        kh, kw = _filters.pair(self.ksize)
        self.W.initialize((self.channel_multiplier, in_channels, kh, kw))
        if self.b is not None:
            self.b.initialize(self.channel_multiplier * in_channels)

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.depthwise_convolution_2d(x, self.W, self.b, self.stride, self.pad)
