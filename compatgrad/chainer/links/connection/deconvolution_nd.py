from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import link  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.utils import conv_nd  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class DeconvolutionND(_filters.FilterND):
    """Transposed convolution in `ndim` dimensions with W of shape (in_channels, out_channels / groups, k1, ..., kn).

    With `in_channels=None`, or without it, the first input determines the number. Raises ValueError if `groups` does
    not divide the channels.

    Inputs are floating-point arrays of shape (batch, in_channels, d1, ..., dn), as are results. The subclasses
    `Deconvolution1D` and `Deconvolution3D` fix `ndim`.

    Args:
        ndim: number of axes that the filter moves along.
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        outsize: sizes of the output along the filter's axes; None computes the smallest sizes for the input's size,
            `stride` and `pad`.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        dilate: distance between the filter's elements, for all axes or one number for each.
        groups: number of groups of channels; the output channels of a group are computed from the input channels of the
            same group. It must divide both numbers of channels.

    Raises:
        ValueError: `groups` does not divide both numbers of channels.

    Example:
        >>> link = L.DeconvolutionND(1, 1, 1, 2, stride=2, initialW=1)
        >>> link(np.array([[[1, 2]]], np.float32)).array
        array([[[1., 1., 2., 2.]]], dtype=float32)

    Source: `chainer.links.DeconvolutionND` of Chainer 7.8.1.
    """

    def __init__(
        self,
        ndim: int,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts | None = None,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        outsize: Sequence[int] | None = None,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        sizes = (ndim, in_channels, out_channels, ksize, stride, pad)
        super().__init__(*sizes, nobias, initialW, initial_bias, dilate, groups)
        self.outsize = outsize

    def _initialize_params(self, in_channels):
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((in_channels, self.out_channels // self.groups, *self.ksize))

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the transposed convolution to (batch, channels, d1, ..., dn)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.deconvolution_nd(
            x,
            self.W,
            b=self.b,
            stride=self.stride,
            pad=self.pad,
            outsize=self.outsize,
            dilate=self.dilate,
            groups=self.groups,
        )


class Deconvolution1D(DeconvolutionND):
    """Transposed convolution of sequences: arrays of shape (batch, in_channels, length). See `DeconvolutionND`.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        outsize: sizes of the output along the filter's axes; None computes the smallest sizes for the input's size,
            `stride` and `pad`.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        dilate: distance between the filter's elements, for all axes or one number for each.
        groups: number of groups of channels; the output channels of a group are computed from the input channels of the
            same group. It must divide both numbers of channels.

    Example:
        >>> link = L.Deconvolution1D(1, 1, 3, initialW=1)
        >>> link(np.array([[[1, 2]]], np.float32)).array
        array([[[1., 3., 3., 2.]]], dtype=float32)

    Source: `chainer.links.Deconvolution1D` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        outsize: Sequence[int] | None = None,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        args = (in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias)
        super().__init__(1, *args, dilate, groups)


class Deconvolution3D(DeconvolutionND):
    """Transposed convolution of volumes: arrays of shape (batch, in_channels, depth, height, width). See
    `DeconvolutionND`.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        outsize: sizes of the output along the filter's axes; None computes the smallest sizes for the input's size,
            `stride` and `pad`.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        dilate: distance between the filter's elements, for all axes or one number for each.
        groups: number of groups of channels; the output channels of a group are computed from the input channels of the
            same group. It must divide both numbers of channels.

    Example:
        >>> link = L.Deconvolution3D(2, 4, ksize=2, stride=2)
        >>> link(np.zeros((1, 2, 3, 3, 3), np.float32)).shape
        (1, 4, 6, 6, 6)

    Source: `chainer.links.Deconvolution3D` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: IntOrInts,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        outsize: Sequence[int] | None = None,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        args = (in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias)
        super().__init__(3, *args, dilate, groups)
