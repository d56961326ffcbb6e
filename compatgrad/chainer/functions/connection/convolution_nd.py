"""Convolution over any number of axes."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.connection import convolution_2d
from compatgrad.chainer.utils import conv_nd, type_check


class _PlacedND(_native.NativeFunction):
    """Where a filter is placed on images: what convolutions and transposed convolutions share."""

    def __init__(self, ndim, stride, pad, dilate, groups, **params):
        super().__init__(
            stride=conv_nd.as_tuple(stride, ndim),
            pad=conv_nd.as_tuple(pad, ndim),
            dilate=conv_nd.as_tuple(dilate, ndim),
            groups=groups,
            **params,
        )

    ndim = property(lambda self: len(self.stride))
    stride = property(lambda self: self.op_params["stride"])
    pad = property(lambda self: self.op_params["pad"])
    dilate = property(lambda self: self.op_params["dilate"])
    groups = property(lambda self: self.op_params["groups"])

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
    op = "convolution"

    def __init__(self, ndim, stride=1, pad=0, cover_all=False, dilate=1, groups=1):
        super().__init__(ndim, stride, pad, dilate, groups, outsize=None)
        self._cover_all = cover_all

    _cover_all = None
    cover_all = convolution_2d.Convolution2DFunction.cover_all

    def _check_sizes(self, x, w):
        pass  # numbers of channels are checked below, with other errors

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
    op = "convolution_grad_w"

    ksize = property(lambda self: self.op_params["ksize"])


frontend.node_classes["convolution"] = _spatial.by_rank("stride", convolution_2d.Convolution2DFunction, ConvolutionND)
frontend.node_classes["convolution_grad_w"] = _spatial.by_rank(
    "stride", convolution_2d.Convolution2DGradW, ConvolutionNDGradW
)


def _checked(x, W, b, stride, pad, dilate, groups, cover_all=False):
    function = ConvolutionND(x.ndim - 2, stride, pad, cover_all, dilate, groups)
    return function.apply((x, W) if b is None else (x, W, b))[0]


_convolution = frontend.bind("convolution", _checked)
_entries = _spatial.entries


def convolution_nd(x, W, b=None, stride=1, pad=0, cover_all=False, dilate=1, groups=1):
    """Convolution of x (N, C, …) with filters W (out, C / groups, …) and bias b (out,) over one to three
    axes.

    `stride`, `pad`, `dilate`: an int or one per axis. `cover_all`: every input element is covered by an
    output. Raises InvalidType where shapes or dtypes do not fit, TypeError where `groups` does not divide the
    channels.
    """
    ndim = x.ndim - 2
    if cover_all or ndim < 1:
        return _checked(x, W, b, stride, pad, dilate, groups, cover_all)
    return _convolution(x, W, b, _entries(stride, ndim), _entries(pad, ndim), _entries(dilate, ndim), groups)


def convolution_1d(x, W, b=None, stride=1, pad=0, cover_all=False, dilate=1, groups=1):
    """`convolution_nd` of x (N, C, length); ValueError for another number of axes."""
    _spatial.check_ndim(x, 1)
    return convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)


def convolution_3d(x, W, b=None, stride=1, pad=0, cover_all=False, dilate=1, groups=1):
    """`convolution_nd` of x (N, C, depth, height, width); ValueError for another number of axes."""
    _spatial.check_ndim(x, 3)
    return convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)
