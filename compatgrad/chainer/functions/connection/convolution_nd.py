"""Convolution over any number of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.connection import convolution_2d
from compatgrad.chainer.utils import conv_nd, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_entries = _spatial.entries  # Chainer has this name here too, and programs import it


class _PlacedND(_native.NativeFunction):
    """Where a filter is placed on images: what convolutions and transposed convolutions share."""

    def __init__(
        self, ndim: int, stride: IntOrInts, pad: IntOrInts, dilate: IntOrInts, groups: int, **params: Any
    ) -> None:
        super().__init__(
            stride=conv_nd.as_tuple(stride, ndim),
            pad=conv_nd.as_tuple(pad, ndim),
            dilate=conv_nd.as_tuple(dilate, ndim),
            groups=groups,
            **params,
        )

    ndim = property(lambda self: len(self.stride), doc="Number of axes over which the filter moves.")
    stride = _native.parameter("stride")
    pad = _native.parameter("pad")
    dilate = _native.parameter("dilate")
    groups = _native.parameter("groups")

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x, w = in_types[:2]
        type_check.expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == self.ndim + 2, w.ndim == self.ndim + 2)
        self._check_sizes(x, w)
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check.expect(b.dtype.kind == "f", b.ndim == 1, b.shape[0] == self._out_channels(w))

    def _check_groups(self, kind, channels):
        if channels % self.groups:
            raise TypeError(f"The number of groups must be a divisor of that of {kind} channels")


class ConvolutionND(_PlacedND, show=False):
    """The node of `chainer.functions.convolution_nd` in the graph, its result's `creator`.

    Args:
        ndim: number of axes over which the filter moves.
        stride: step of the filter along each axis, or one number for all.
        pad: zeros at both ends of each axis, or one number for all.
        cover_all: True adds a position of the filter if the last one would leave elements out.
        dilate: distance between the filter's elements along each axis, or one number for all.
        groups: number of groups of channels; an output channel is computed from the input channels of its group.

    Example:
        >>> node = F.connection.convolution_nd.ConvolutionND(1)
        >>> node.apply((np.array([[[1.0, 2.0, 3.0]]]), np.ones((1, 1, 2))))[0].array
        array([[[3., 5.]]])

    Source: `chainer.functions.connection.convolution_nd.ConvolutionND` of Chainer 7.8.1.
    """

    op = "convolution"

    def __init__(
        self,
        ndim: int,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        cover_all: bool = False,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(ndim, stride, pad, dilate, groups, outsize=None)
        self._cover_all = cover_all

    _cover_all = None
    cover_all = convolution_2d.Convolution2DFunction.cover_all

    def _check_sizes(self, x, w):
        pass  # the code below checks the numbers of channels and raises other errors

    def _out_channels(self, w):
        return w.shape[0]

    def _run_bound(self, inputs):
        x, w = inputs[:2]
        self._check_groups("input", x.shape[1])
        self._check_groups("output", w.shape[0])
        outsize = _spatial.outsize(x.shape[2:], w.shape[2:], self.stride, self.pad, self.dilate, self.cover_all)
        params = dict(self.op_params, outsize=outsize if self.cover_all else None)
        return self._bound._apply_as(self, *in_first_dtype(inputs), **params)


class ConvolutionNDGradW(_PlacedND, show=False):
    """The gradient of `convolution_nd` with respect to the filters; it is a node where a gradient is differentiated
    again.

    Args:
        ndim: number of axes over which the filter moves.
        stride: step of the filter along each axis.
        pad: zeros at both ends of each axis.
        dilate: distance between the filter's elements.
        groups: number of groups of channels.
        **params: `ksize`, lengths of the filters, and `outsize`.

    Example:
        >>> x, W = np.ones((1, 1, 2)), chainer.Variable(np.ones((1, 1, 1)))
        >>> gW, = chainer.grad([F.convolution_nd(x, W) ** 2], [W], enable_double_backprop=True)
        >>> gW.creator.label, gW.shape
        ('ConvolutionNDGradW', (1, 1, 1))

    Source: `chainer.functions.connection.convolution_nd.ConvolutionNDGradW` of Chainer 7.8.1.
    """

    op = "convolution_grad_w"

    ksize = _native.parameter("ksize")


frontend.node_classes["convolution"] = _spatial.by_rank("stride", convolution_2d.Convolution2DFunction, ConvolutionND)
frontend.node_classes["convolution_grad_w"] = _spatial.by_rank(
    "stride", convolution_2d.Convolution2DGradW, ConvolutionNDGradW
)


def _checked(x, W, b, stride, pad, dilate, groups, cover_all=False):
    return _native.applied(ConvolutionND(x.ndim - 2, stride, pad, cover_all, dilate, groups), x, W, b)


_convolution = frontend.bind("convolution", _checked)


def convolution_nd(
    x: VariableOrArray,
    W: VariableOrArray,
    b: VariableOrArray | None = None,
    stride: IntOrInts = 1,
    pad: IntOrInts = 0,
    cover_all: bool = False,
    dilate: IntOrInts = 1,
    groups: int = 1,
) -> Variable:
    """Convolution over the axes after the first two, one to three of them.

    Args:
        x: floating, (n, c, d1, ...): n samples of c channels.
        W: floating, (out, c / groups, k1, ...).
        b: floating, (out,); None for none.
        stride: step of the filter along each axis, or one number for all.
        pad: zeros at both ends of each axis, or one number for all.
        cover_all: True adds a position of the filter if the last one would leave elements out.
        dilate: distance between the filter's elements along each axis, or one number for all.
        groups: number of groups of channels; an output channel is computed from the input channels of its group.

    Returns:
        Variable of the dtype of `x`, (n, out, ...); each length is (length + 2 pad - dilate (k - 1) - 1) // stride + 1.

    Raises:
        chainer.utils.type_check.InvalidType: `x` or `W` is not floating-point, or has another number of axes.
        TypeError: `groups` does not divide the channels.
        AssertionError: the result would be empty.

    Example:
        >>> F.convolution_nd(np.array([[[1.0, 2.0, 3.0]]]), np.ones((1, 1, 2))).array
        array([[[3., 5.]]])

    Source: `chainer.functions.convolution_nd` of Chainer 7.8.1.
    """
    ndim = x.ndim - 2
    if cover_all or ndim < 1:
        return _checked(x, W, b, stride, pad, dilate, groups, cover_all)
    return _convolution(x, W, b, _entries(stride, ndim), _entries(pad, ndim), _entries(dilate, ndim), groups)


convolution_1d = _spatial.over(
    convolution_nd,
    1,
    """
    >>> F.convolution_1d(np.array([[[1.0, 2.0, 3.0]]]), np.ones((1, 1, 2))).array
    array([[[3., 5.]]])
    """,
    W="floating, (out, c / groups, k).",
)


convolution_3d = _spatial.over(
    convolution_nd,
    3,
    """
    >>> F.convolution_3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), np.ones((1, 1, 2, 2, 2))).array
    array([[[[[28.]]]]])
    """,
    W="floating, (out, c / groups, kd, kh, kw).",
)
