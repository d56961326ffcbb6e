"""Unpooling: each element is written to all positions of its window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.pooling import pooling_nd
from compatgrad.chainer.utils import conv, type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


def _expect_pooled_size(in_type, ksize, stride, pad, outsize, cover_all):
    """Checks that pooling an array of size `outsize` gives the lengths of the input."""
    for i, (out, k, s, p) in enumerate(zip(outsize, ksize, stride, pad, strict=True)):
        type_check.expect(in_type.shape[2 + i] == conv.get_conv_outsize(out, k, s, p, cover_all=cover_all))


class UnpoolingND(pooling_nd._PoolingND):
    """The node of `chainer.functions.unpooling_nd` in the graph, its result's `creator`.

    Args:
        ndim: number of axes over which the windows extend.
        ksize: lengths of the window along the last axes, or one number for all.
        stride: step of the window along each of these axes, or one number for all; None: `ksize`.
        pad: how far both ends of these axes are padded, for each or one number for all.
        outsize: lengths of the result; None: the smallest or largest ones that `cover_all` allows.
        cover_all: whether the pooling that this function reverses let its last window reach beyond the padding.

    Raises:
        ValueError: `ndim` is not positive.

    Example:
        >>> F.pooling.unpooling_nd.UnpoolingND(1, 2, cover_all=False).apply((np.array([[[1.0, 3.0]]]),))[0].array
        array([[[1., 1., 3., 3.]]])

    Source: `chainer.functions.pooling.unpooling_nd.UnpoolingND` of Chainer 7.8.1.
    """

    op = "unpooling"

    def __init__(
        self,
        ndim: int,
        ksize: IntOrInts,
        stride: IntOrInts | None = None,
        pad: IntOrInts = 0,
        outsize: Sequence[int] | None = None,
        cover_all: bool = True,
    ) -> None:
        super().__init__(ndim, ksize, stride, pad, outsize=outsize, cover_all=cover_all)

    outs = _native.parameter("outsize")
    cover_all = _native.parameter("cover_all")

    def _check_outsize(self, x):
        pass  # check_type_forward checks an `outsize`

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == "f", in_types[0].ndim == 2 + self.ndim)
        if self.outs is not None:
            _expect_pooled_size(in_types[0], self.ksize, self.stride, self.pad, self.outs, self.cover_all)


_unpooling = frontend.bind(
    "unpooling", lambda x, *args: UnpoolingND(x.ndim - 2, *args).apply((x,))[0], dtype="float"
)  # fmt: skip


def unpooling_nd(
    x: VariableOrArray,
    ksize: IntOrInts,
    stride: IntOrInts | None = None,
    pad: IntOrInts = 0,
    outsize: Sequence[int] | None = None,
    cover_all: bool = True,
) -> Variable:
    """Writes each element to all positions of its window, over the axes after the first two, and adds where windows
    overlap.

    Args:
        x: floating, (n, c, d1, ...), of at most five axes.
        ksize: lengths of the window along the last axes, or one number for all.
        stride: step of the window along each of these axes, or one number for all; None: `ksize`.
        pad: how far both ends of these axes are padded, for each or one number for all.
        outsize: lengths of the result; None: the smallest or largest ones that `cover_all` allows.
        cover_all: whether the pooling that this function reverses let its last window reach beyond the padding.

    Returns:
        Variable of the dtype of `x`, of as many axes.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or pooling an array of `outsize` does not give
            the size of `x`.

    Example:
        >>> F.unpooling_nd(np.array([[[1.0, 3.0]]]), 2, cover_all=False).array
        array([[[1., 1., 3., 3.]]])
        >>> F.unpooling_nd(np.array([[[1.0, 3.0]]]), 2, stride=1, cover_all=False).array  # windows overlap
        array([[[1., 4., 3.]]])

    Source: `chainer.functions.unpooling_nd` of Chainer 7.8.1.
    """
    if outsize is not None or x.ndim == 4:  # for four axes, `creator` would be an Unpooling2D
        return UnpoolingND(x.ndim - 2, ksize, stride, pad, outsize, cover_all).apply((x,))[0]
    return _unpooling(x, ksize, ksize if stride is None else stride, pad, None, cover_all)


unpooling_1d = _spatial.over(
    unpooling_nd,
    1,
    """
    >>> F.unpooling_1d(np.array([[[1.0, 3.0]]]), 2, cover_all=False).array
    array([[[1., 1., 3., 3.]]])
    """,
)


unpooling_3d = _spatial.over(
    unpooling_nd,
    3,
    """
    >>> F.unpooling_3d(np.array([[[[[1.0]]]]]), 2, cover_all=False).array
    array([[[[[1., 1.],
              [1., 1.]],
    <BLANKLINE>
             [[1., 1.],
              [1., 1.]]]]])
    """,
)
