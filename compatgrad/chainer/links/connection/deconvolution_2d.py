from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.links.connection._filters import pair as _pair  # noqa: F401  (programs find it here)
from compatgrad.chainer.links.connection.convolution_2d import _NO_DETERMINISTIC
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Deconvolution2D(_filters.Filter2D):
    """Transposed convolution of images: each input pixel of channel i adds its value times W[i] to a patch of the
    output; the gradient of `Convolution2D` with respect to its input.

    With `in_channels=None`, or without it, the first input determines the number. W has shape (in_channels,
    out_channels / groups, kh, kw), b (out_channels,). Inputs are floating-point arrays of shape (batch, in_channels,
    height, width); a side of length n gives stride (n - 1) + dilate (k - 1) + 1 - 2 pad elements.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: height and width of the filter, one number for both or a pair.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        outsize: sizes of the output along the filter's axes; None computes the smallest sizes for the input's size,
            `stride` and `pad`.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: `dilate`, the distance between the filter's elements (1), and `groups`, the number of groups into
            which channels are divided (1).

    Raises:
        ValueError: `groups` does not divide both numbers of channels.
        TypeError: there is an unknown option.

    Example:
        >>> link = L.Deconvolution2D(1, 1, ksize=2, stride=2, initialW=1)
        >>> link(np.array([[[[1, 2], [3, 4]]]], np.float32)).array[0, 0]
        array([[1., 1., 2., 2.],
               [1., 1., 2., 2.],
               [3., 3., 4., 4.],
               [3., 3., 4., 4.]], dtype=float32)

    Source: `chainer.links.Deconvolution2D` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts | None = None,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        outsize: Sequence[int] | None = None,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1), deterministic=_NO_DETERMINISTIC)
        in_channels = self._set_filter(in_channels, out_channels, ksize, stride, pad, dilate)
        self.outsize = (None, None) if outsize is None else outsize
        self.groups = int(groups)
        if not nobias and isinstance(initial_bias, chainer.get_array_types()):
            expected = (self.out_channels,)
            assert initial_bias.shape == expected, f"initial_bias must have shape {expected}, not {initial_bias.shape}"
        _weights.register(self, initialW, in_channels, nobias, initial_bias, self.out_channels)

    def _initialize_params(self, in_channels):
        kh, kw = _filters.pair(self.ksize)
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((in_channels, self.out_channels // self.groups, kh, kw))

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the transposed convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.deconvolution_2d(
            x,
            self.W,
            self.b,
            self.stride,
            self.pad,
            None if self.outsize == (None, None) else self.outsize,
            dilate=self.dilate,
            groups=self.groups,
        )
