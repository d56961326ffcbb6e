"""Base classes of the links of convolutions and transposed convolutions: the attributes of their filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import link
from compatgrad.chainer.links import _weights
from compatgrad.chainer.utils import conv_nd

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, IntOrInts


def pair(x: Any) -> Any:
    """A pair of numbers from one number; a sequence is returned unchanged."""
    return x if hasattr(x, "__getitem__") else (x, x)


class Filter2D(link.Link):
    """A link whose filter moves along two axes."""

    def _set_filter(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts | None,
        stride: IntOrInts,
        pad: IntOrInts,
        dilate: IntOrInts,
    ) -> int | None:
        """Set the attributes of the filter and return the number of input channels. Where `ksize` is None, the first
        two arguments mean out_channels and ksize."""
        if ksize is None:
            out_channels, ksize, in_channels = in_channels, out_channels, None
        self.ksize = ksize
        self.stride = pair(stride)
        self.pad = pair(pad)
        self.dilate = pair(dilate)
        self.out_channels = out_channels
        return in_channels


class FilterND(link.Link):
    """A link whose filter moves along `ndim` axes."""

    def __init__(
        self,
        ndim: int,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts | None,
        stride: IntOrInts,
        pad: IntOrInts,
        nobias: bool,
        initialW: Initializer,
        initial_bias: Initializer,
        dilate: IntOrInts,
        groups: int,
    ) -> None:
        super().__init__()
        if ksize is None:
            out_channels, ksize, in_channels = in_channels, out_channels, None
        self.out_channels = out_channels
        self.ksize = conv_nd.as_tuple(ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.dilate = conv_nd.as_tuple(dilate, ndim)
        self.groups = int(groups)
        _weights.register(self, initialW, in_channels, nobias, initial_bias, out_channels)
