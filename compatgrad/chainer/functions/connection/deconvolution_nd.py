"""Transposed convolution over any number of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.connection import deconvolution_2d
from compatgrad.chainer.functions.connection.convolution_nd import _PlacedND
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_entries = _spatial.entries  # Chainer has this name here too, and programs import it


class DeconvolutionND(_PlacedND, show=False):
    """The node of `chainer.functions.deconvolution_nd` in the graph, its result's `creator`.

    Args:
        ndim: number of axes over which the filter moves.
        stride: step of the filter along each axis, or one number for all.
        pad: zeros at both ends of each axis, or one number for all.
        outsize: lengths of the result; None: the smallest that fit.
        dilate: distance between the filter's elements along each axis, or one number for all.
        groups: number of groups of channels; an output channel is computed from the input channels of its group.

    Raises:
        AssertionError: `outsize` has another length than `ndim`.

    Example:
        >>> node = F.connection.deconvolution_nd.DeconvolutionND(1)
        >>> node.apply((np.array([[[1.0, 10.0]]]), np.ones((1, 1, 2))))[0].array
        array([[[ 1., 11., 10.]]])

    Source: `chainer.functions.connection.deconvolution_nd.DeconvolutionND` of Chainer 7.8.1.
    """

    op = "deconvolution"
    cover_all = None

    def __init__(
        self,
        ndim: int,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        outsize: Sequence[int] | None = None,
        dilate: IntOrInts = 1,
        groups: int = 1,
    ) -> None:
        if outsize is not None:
            assert len(outsize) == ndim, f"outsize must have {ndim} numbers, not {len(outsize)}"
            outsize = tuple(outsize)
        super().__init__(ndim, stride, pad, dilate, groups, outsize=outsize)

    outs = _native.parameter("outsize")

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
    return _native.applied(DeconvolutionND(x.ndim - 2, stride, pad, outsize, dilate, groups), x, W, b)


_deconvolution = frontend.bind("deconvolution", _checked)


def deconvolution_nd(
    x: VariableOrArray,
    W: VariableOrArray,
    b: VariableOrArray | None = None,
    stride: IntOrInts = 1,
    pad: IntOrInts = 0,
    outsize: Sequence[int] | None = None,
    dilate: IntOrInts = 1,
    groups: int = 1,
) -> Variable:
    """Transposed convolution over the axes after the first two, one to three of them.

    Args:
        x: floating, (n, c, d1, ...): n samples of c channels.
        W: floating, (c, out / groups, k1, ...).
        b: floating, (out,); None for none.
        stride: step of the filter along each axis, or one number for all.
        pad: zeros at both ends of each axis, or one number for all.
        outsize: lengths of the result; None: the smallest that fit.
        dilate: distance between the filter's elements along each axis, or one number for all.
        groups: number of groups of channels; an output channel is computed from the input channels of its group.

    Returns:
        Variable of the dtype of `x`, (n, out, ...); each length is stride (length - 1) + dilate (k - 1) + 1 - 2 pad
        unless `outsize` says more.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit, or no convolution leads from `outsize` to
            `x`.
        TypeError: `groups` does not divide the channels.
        AssertionError: the result would be empty, or `outsize` has another number of lengths.

    Example:
        >>> F.deconvolution_nd(np.array([[[1.0, 10.0]]]), np.ones((1, 1, 2))).array
        array([[[ 1., 11., 10.]]])

    Source: `chainer.functions.deconvolution_nd` of Chainer 7.8.1.
    """
    ndim = x.ndim - 2
    if outsize is not None or ndim < 1:
        return _checked(x, W, b, stride, pad, dilate, groups, outsize)
    return _deconvolution(x, W, b, _entries(stride, ndim), _entries(pad, ndim), _entries(dilate, ndim), groups)


deconvolution_1d = _spatial.over(
    deconvolution_nd,
    1,
    """
    >>> F.deconvolution_1d(np.array([[[1.0, 10.0]]]), np.ones((1, 1, 2))).array
    array([[[ 1., 11., 10.]]])
    """,
    W="floating, (c, out / groups, k).",
)


deconvolution_3d = _spatial.over(
    deconvolution_nd,
    3,
    """
    >>> F.deconvolution_3d(np.array([[[[[1.0, 10.0]]]]]), np.ones((1, 1, 1, 1, 2))).array
    array([[[[[ 1., 11., 10.]]]]])
    """,
    W="floating, (c, out / groups, kd, kh, kw).",
)
