from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import (
    link,  # noqa: F401  programs find it here, as in Chainer
    variable,
)
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.links.connection._filters import pair as _pair  # noqa: F401  (programs find it here)
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_NO_DETERMINISTIC = (
    "deterministic argument is not supported anymore. Use "
    "chainer.using_config('cudnn_deterministic', value) context where value is either `True` or `False`."
)


class Convolution2D(_filters.Filter2D):
    """Convolution of images: each output pixel of channel o is the sum over a patch of the input, weighted by W[o],
    plus b[o].

    `Convolution2D(in_channels, out_channels, ksize)`, or `Convolution2D(out_channels, ksize)` or `in_channels=None`,
    where the first input determines the number. W has shape (out_channels, in_channels / groups, kh, kw), b
    (out_channels,). Inputs are floating-point arrays of shape (batch, in_channels, height, width); a side of length n
    gives (n + 2 pad - dilate (k - 1) - 1) // stride + 1 elements.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: height and width of the filter, one number for both or a pair.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: `dilate`, the distance between the filter's elements (1), and `groups`, the number of groups into
            which channels are divided (1).

    Raises:
        ValueError: `groups` does not divide both numbers of channels.
        TypeError: there is an unknown option.

    Example:
        >>> link = L.Convolution2D(1, 1, 2, initialW=1)
        >>> link(np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)).array[0, 0]
        array([[ 8., 12.],
               [20., 24.]], dtype=float32)
        >>> L.Convolution2D(8, 3, stride=2, pad=1)(np.zeros((1, 3, 6, 6), np.float32)).shape
        (1, 8, 3, 3)

    Source: `chainer.links.Convolution2D` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts | None = None,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1), deterministic=_NO_DETERMINISTIC)
        in_channels = self._set_filter(in_channels, out_channels, ksize, stride, pad, dilate)
        self.in_channels = in_channels
        self.groups = int(groups)
        _weights.register(self, initialW, in_channels, nobias, initial_bias, self.out_channels)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        for name in ("in_channels", "out_channels", "ksize", "stride", "pad"):
            yield name, getattr(self, name)
        yield "nobias", self.b is None
        yield "dilate", self.dilate
        yield "groups", self.groups

    def _initialize_params(self, in_channels):
        kh, kw = _filters.pair(self.ksize)
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((self.out_channels, in_channels // self.groups, kh, kw))

    @classmethod
    def from_params(
        cls,
        W: VariableOrArray,
        b: VariableOrArray | None = None,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        **kwargs: Any,
    ) -> Convolution2D:
        """Makes the link from its arrays. Raises ValueError if the sizes of W and b differ."""
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1))
        out_channels, in_channels, kh, kw = W.shape
        _weights.check_bias_size(out_channels, b, "out_channels")
        return cls(
            in_channels * groups,
            out_channels,
            (kh, kw),
            stride,
            pad,
            nobias,
            initialW=variable.as_array(W),
            initial_bias=variable.as_array(b),
            dilate=dilate,
            groups=groups,
        )

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.convolution_2d(x, self.W, self.b, self.stride, self.pad, dilate=self.dilate, groups=self.groups)
