from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import (
    link,  # noqa: F401  programs find it here, as in Chainer
    variable,
)
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection import _filters
from compatgrad.chainer.utils import (
    argument,
    conv_nd,  # noqa: F401  programs find it here, as in Chainer
)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class ConvolutionND(_filters.FilterND):
    """Convolution in `ndim` dimensions with W of shape (out_channels, in_channels / groups, k1, ..., kn).

    With `in_channels=None`, or without it, the first input determines the number. Raises ValueError if `groups` does
    not divide the channels.

    Inputs are floating-point arrays of shape (batch, in_channels, d1, ..., dn), as are results. The subclasses
    `Convolution1D` and `Convolution3D` fix `ndim`.

    Args:
        ndim: number of axes that the filter moves along.
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        cover_all: True makes the output larger where needed, so that the filter covers every input element.
        dilate: distance between the filter's elements, for all axes or one number for each.
        groups: number of groups into which channels are divided; the output channels of a group are computed from the
            input channels of the same group. It must divide both numbers of channels.

    Raises:
        ValueError: `groups` does not divide both numbers of channels.

    Example:
        >>> link = L.ConvolutionND(1, 1, 1, 2, initialW=1)
        >>> link(np.array([[[1, 2, 3]]], np.float32)).array
        array([[[3., 5.]]], dtype=float32)

    Source: `chainer.links.ConvolutionND` of Chainer 7.8.1.
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
        initialW: Initializer = None,
        initial_bias: Initializer = None,
        cover_all: bool = False,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        sizes = (ndim, in_channels, out_channels, ksize, stride, pad)
        super().__init__(*sizes, nobias, initialW, initial_bias, dilate, groups)
        self.cover_all = cover_all

    def _initialize_params(self, in_channels):
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((self.out_channels, in_channels // self.groups, *self.ksize))

    @classmethod
    def from_params(
        cls,
        W: VariableOrArray,
        b: VariableOrArray | None = None,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        nobias: bool = False,
        **kwargs: Any,
    ) -> ConvolutionND:
        """Makes the link from its arrays. Raises ValueError if the sizes of W and b differ."""
        cover_all, dilate, groups = argument.parse_kwargs(kwargs, ("cover_all", False), ("dilate", 1), ("groups", 1))
        out_channels, in_channels, *ksize = W.shape
        _weights.check_bias_size(out_channels, b, "out_channels")
        return cls(
            len(ksize),
            in_channels * groups,
            out_channels,
            ksize,
            stride,
            pad,
            nobias,
            initialW=variable.as_array(W),
            initial_bias=variable.as_array(b),
            cover_all=cover_all,
            dilate=dilate,
            groups=groups,
        )

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the convolution to (batch, channels, d1, ..., dn)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.convolution_nd(
            x,
            self.W,
            self.b,
            self.stride,
            self.pad,
            cover_all=self.cover_all,
            dilate=self.dilate,
            groups=self.groups,
        )


class Convolution1D(ConvolutionND):
    """Convolution of sequences: arrays of shape (batch, in_channels, length). See `ConvolutionND`.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        cover_all: True makes the output larger where needed, so that the filter covers every input element.
        dilate: distance between the filter's elements, for all axes or one number for each.
        groups: number of groups into which channels are divided; the output channels of a group are computed from the
            input channels of the same group. It must divide both numbers of channels.

    Example:
        >>> link = L.Convolution1D(1, 1, 2, initialW=np.array([[[-1, 1]]], np.float32))
        >>> link(np.array([[[1, 4, 9, 16]]], np.float32)).array  # differences of neighbours
        array([[[3., 5., 7.]]], dtype=float32)

    Source: `chainer.links.Convolution1D` of Chainer 7.8.1.
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
        cover_all: bool = False,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        args = (in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias)
        super().__init__(1, *args, cover_all, dilate, groups)


class Convolution3D(ConvolutionND):
    """Convolution of volumes: arrays of shape (batch, in_channels, depth, height, width). See `ConvolutionND`.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of the output, that is, number of filters.
        ksize: size of the filter, for all axes or one number for each.
        stride: step of the filter, for all axes or one number for each.
        pad: zeros around the input on each side, for all axes or one number for each.
        nobias: True leaves out the bias.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        cover_all: True makes the output larger where needed, so that the filter covers every input element.
        dilate: distance between the filter's elements, for all axes or one number for each.
        groups: number of groups into which channels are divided; the output channels of a group are computed from the
            input channels of the same group. It must divide both numbers of channels.

    Example:
        >>> link = L.Convolution3D(2, 4, ksize=3, pad=1)
        >>> link(np.zeros((1, 2, 5, 6, 7), np.float32)).shape
        (1, 4, 5, 6, 7)

    Source: `chainer.links.Convolution3D` of Chainer 7.8.1.
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
        cover_all: bool = False,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        args = (in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias)
        super().__init__(3, *args, cover_all, dilate, groups)
