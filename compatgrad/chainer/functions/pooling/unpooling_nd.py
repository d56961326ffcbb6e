"""Unpooling: each element is written to all of its window."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import pooling_nd
from compatgrad.chainer.utils import conv, type_check


def _expect_pooled_size(in_type, ksize, stride, pad, outsize, cover_all):
    """The lengths of the input are those that pooling gives for `outsize`."""
    for i, (out, k, s, p) in enumerate(zip(outsize, ksize, stride, pad, strict=True)):
        type_check.expect(in_type.shape[2 + i] == conv.get_conv_outsize(out, k, s, p, cover_all=cover_all))


class UnpoolingND(pooling_nd._PoolingND):
    op = "unpooling"

    def __init__(self, ndim, ksize, stride=None, pad=0, outsize=None, cover_all=True):
        super().__init__(ndim, ksize, stride, pad, outsize=outsize, cover_all=cover_all)

    outs = property(lambda self: self.op_params["outsize"])
    cover_all = property(lambda self: self.op_params["cover_all"])

    def _check_outsize(self, x):
        pass  # an `outsize` is checked with the types

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == "f", in_types[0].ndim == 2 + self.ndim)
        if self.outs is not None:
            _expect_pooled_size(in_types[0], self.ksize, self.stride, self.pad, self.outs, self.cover_all)


_unpooling = frontend.bind(
    "unpooling", lambda x, *args: UnpoolingND(x.ndim - 2, *args).apply((x,))[0], dtype="float"
)  # fmt: skip


def unpooling_nd(x, ksize, stride=None, pad=0, outsize=None, cover_all=True):
    """Writes each element of x (batch, channel, …) to all of its window and adds where windows overlap.

    `ksize`, `stride` (default: `ksize`) and `pad` are an int or one per axis, three axes at most. `outsize`:
    the lengths of the result; else they follow from `cover_all`, as in pooling. Raises InvalidType where x
    does not have the size that pooling gives for `outsize`.
    """
    if outsize is not None or x.ndim == 4:  # of rank 4, Unpooling2D would show the function
        return UnpoolingND(x.ndim - 2, ksize, stride, pad, outsize, cover_all).apply((x,))[0]
    return _unpooling(x, ksize, ksize if stride is None else stride, pad, None, cover_all)


def unpooling_1d(x, ksize, stride=None, pad=0, outsize=None, cover_all=True):
    """`unpooling_nd` of x (batch, channel, length); ValueError for another number of axes."""
    _spatial.check_ndim(x, 1)
    return unpooling_nd(x, ksize, stride, pad, outsize, cover_all)


def unpooling_3d(x, ksize, stride=None, pad=0, outsize=None, cover_all=True):
    """`unpooling_nd` of x (batch, channel, depth, height, width); ValueError for another number of axes."""
    _spatial.check_ndim(x, 3)
    return unpooling_nd(x, ksize, stride, pad, outsize, cover_all)
