from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import (
    initializers,
    link,
    variable,  # noqa: F401  programs find it here, as in Chainer
)
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.links.connection._filters import pair as _pair  # noqa: F401  (programs find it here)
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class DeformableConvolution2D(link.Chain):
    """Convolution whose filter reads positions that a second convolution determines: `offset_conv` computes from the
    input, for each output pixel, a shift for each of the kh * kw elements, and `deform_conv` samples the input there,
    between pixels by bilinear interpolation.

    Inputs are floating-point arrays of shape (batch, in_channels, height, width).

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: height and width of both filters, one number or a pair.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        offset_nobias: True leaves out the bias of `offset_conv`.
        offset_initialW: initializer of W of `offset_conv`; None is `LeCunNormal()`.
        offset_initial_bias: initializer of the bias of `offset_conv`; None is 0.
        deform_nobias: True leaves out the bias of `deform_conv`.
        deform_initialW: initializer of W of `deform_conv`; None is 0, as in the original.
        deform_initial_bias: initializer of the bias of `deform_conv`; None is 0.

    Example:
        >>> link = L.DeformableConvolution2D(1, 1, 2, offset_initialW=0, deform_initialW=1)
        >>> link(np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)).array[0, 0]  # shifts of 0: an ordinary convolution
        array([[ 8., 12.],
               [20., 24.]], dtype=float32)

    Source: `chainer.links.DeformableConvolution2D` of Chainer 7.8.1; Dai et al., 2017.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        offset_nobias: bool = False,
        offset_initialW: Initializer = None,
        offset_initial_bias: Initializer = None,
        deform_nobias: bool = False,
        deform_initialW: Initializer = None,
        deform_initial_bias: Initializer = None,
    ) -> None:
        super().__init__()
        kh, kw = _filters.pair(ksize)
        offset = (ksize, stride, pad, offset_nobias, offset_initialW, offset_initial_bias)
        deform = (ksize, stride, pad, deform_nobias, deform_initialW, deform_initial_bias)
        with self.init_scope():
            self.offset_conv = Convolution2D(in_channels, 2 * kh * kw, *offset)
            self.deform_conv = DeformableConvolution2DSampler(in_channels, out_channels, *deform)

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the convolution to (batch, channels, height, width)."""
        return self.deform_conv(x, self.offset_conv(x))


class DeformableConvolution2DSampler(link.Link):
    """Convolution that reads positions which are shifted by given offsets: the child `deform_conv` of
    `DeformableConvolution2D`.

    Inputs are floating-point arrays: x of shape (batch, in_channels, height, width) and the offsets of shape (batch, 2
    kh kw, out height, out width), first all shifts along x, then those along y.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W, of shape (out_channels, in_channels, kh, kw); None is 0, as in the original.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.

    Example:
        >>> sampler = chainer.links.connection.deformable_convolution_2d.DeformableConvolution2DSampler
        >>> link = sampler(1, 1, 1, initialW=1)
        >>> offset = np.array([1, 0], np.float32).reshape(1, 2, 1, 1) * np.ones((1, 2, 1, 3), np.float32)
        >>> link(np.array([[[[1, 2, 3]]]], np.float32), offset).array  # one pixel to the right; zeros outside
        array([[[[2., 3., 0.]]]], dtype=float32)

    Source: `chainer.links.connection.deformable_convolution_2d.DeformableConvolution2DSampler` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
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
        self.out_channels = out_channels
        self.initialW = initialW
        if initialW is None:
            initialW = initializers.Zero()
        _weights.register_without_shapes(self, initialW, nobias, initial_bias, in_channels)

    def _initialize_params(self, in_channels):
        kh, kw = _filters.pair(self.ksize)
        self.W.initialize((self.out_channels, in_channels, kh, kw))
        if self.b is not None:
            self.b.initialize(self.out_channels)

    def forward(self, x: VariableOrArray, offset: VariableOrArray) -> Variable:
        """Applies the convolution to `x`, sampled at positions that are shifted by `offset`."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.deformable_convolution_2d_sampler(x, offset, self.W, self.b, self.stride, self.pad)
