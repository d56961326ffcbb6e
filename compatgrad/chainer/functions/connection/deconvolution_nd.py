"""Transposed convolution over any number of axes."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.connection import deconvolution_2d
from compatgrad.chainer.functions.connection.convolution_nd import _PlacedND
from compatgrad.chainer.utils import type_check


class DeconvolutionND(_PlacedND, show=False):
    op = "deconvolution"
    cover_all = None

    def __init__(self, ndim, stride=1, pad=0, outsize=None, dilate=1, groups=1):
        if outsize is not None:
            assert len(outsize) == ndim, f"outsize must have {ndim} numbers, not {len(outsize)}"
            outsize = tuple(outsize)
        super().__init__(ndim, stride, pad, dilate, groups, outsize=outsize)

    outs = property(lambda self: self.op_params["outsize"])

    def _check_sizes(self, x, w):
        type_check.expect(x.shape[1] == w.shape[0])
        if self.outs is not None:
            deconvolution_2d._expect_outsize(self, x, w, self.outs)

    def _out_channels(self, w):
        return w.shape[1] * self.groups

    def _run_bound(self, inputs):
        self._check_groups("input", inputs[0].shape[1])
        outsize = self.outs or deconvolution_2d._natural_outsize(self, *inputs[:2])
        assert all([n > 0 for n in outsize]), "Output sizes should be positive."
        return self._bound._apply_as(self, *in_first_dtype(inputs), **dict(self.op_params, outsize=outsize))


frontend.node_classes["deconvolution"] = _spatial.by_rank(
    "stride", deconvolution_2d.Deconvolution2DFunction, DeconvolutionND
)


def _checked(x, W, b, stride, pad, dilate, groups, outsize=None):
    function = DeconvolutionND(x.ndim - 2, stride, pad, outsize, dilate, groups)
    return function.apply((x, W) if b is None else (x, W, b))[0]


_deconvolution = frontend.bind("deconvolution", _checked)
_entries = _spatial.entries


def deconvolution_nd(x, W, b=None, stride=1, pad=0, outsize=None, dilate=1, groups=1):
    """Transposed convolution of x (N, C, …) with filters W (C, out / groups, …), bias b (out,), over one to
    three axes.

    `stride`, `pad`, `dilate`: an int or one per axis. `outsize`: the lengths of the result; else the smallest
    that fit. Raises InvalidType where shapes or dtypes do not fit, TypeError where `groups` does not divide
    the channels.
    """
    ndim = x.ndim - 2
    if outsize is not None or ndim < 1:
        return _checked(x, W, b, stride, pad, dilate, groups, outsize)
    return _deconvolution(x, W, b, _entries(stride, ndim), _entries(pad, ndim), _entries(dilate, ndim), groups)


def deconvolution_1d(x, W, b=None, stride=1, pad=0, outsize=None, dilate=1, groups=1):
    """`deconvolution_nd` of x (N, C, length); ValueError for another number of axes."""
    _spatial.check_ndim(x, 1)
    return deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)


def deconvolution_3d(x, W, b=None, stride=1, pad=0, outsize=None, dilate=1, groups=1):
    """`deconvolution_nd` of x (N, C, depth, height, width); ValueError for another number of axes."""
    _spatial.check_ndim(x, 3)
    return deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)
