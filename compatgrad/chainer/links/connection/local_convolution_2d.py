from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import (
    initializers,  # noqa: F401  programs find it here, as in Chainer
    link,
    variable,  # noqa: F401  programs find it here, as in Chainer
)
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.links.connection._filters import pair as _pair  # noqa: F401  (programs find it here)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class LocalConvolution2D(link.Link):
    """Convolution with a different filter for each output position: W has shape (out_channels, oh, ow, in_channels,
    kh, kw), b (out_channels, oh, ow).

    `in_channels=None` or `in_size=None` makes the first input determine both. Inputs are floating-point arrays of shape
    (batch, in_channels, height, width).

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        in_size: height and width of the images, one number for both or a pair; None takes them from the first input.
        ksize: height and width of the filters, one number for both or a pair.
        stride: step of the filter, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: ignored.

    Example:
        >>> link = L.LocalConvolution2D(1, 2, in_size=4, ksize=3)
        >>> link(np.zeros((1, 1, 4, 4), np.float32)).shape, link.W.shape
        ((1, 2, 2, 2), (2, 2, 2, 1, 3, 3))

    Source: `chainer.links.LocalConvolution2D` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        in_size: IntOrInts | None = None,
        ksize: IntOrInts | None = None,
        stride: IntOrInts = 1,
        nobias: bool = False,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.ksize = ksize
        self.stride = _filters.pair(stride)
        self.nobias = nobias
        self.out_channels = out_channels
        sizes = in_channels, None if in_size is None else _filters.pair(in_size)
        _weights.register_without_shapes(self, initialW, nobias, initial_bias, *sizes)

    def _initialize_params(self, in_channels, in_size):
        kh, kw = _filters.pair(self.ksize)
        ih, iw = _filters.pair(in_size)
        outsize = (ih - kh + 1, iw - kw + 1)  # without the stride: Chainer ignores it here, so that only stride 1 works
        self.W.initialize((self.out_channels, *outsize, in_channels, kh, kw))
        if not self.nobias:
            self.b.initialize((self.out_channels, *outsize))

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1], x.shape[2:])
        return F.local_convolution_2d(x, self.W, self.b, self.stride)
