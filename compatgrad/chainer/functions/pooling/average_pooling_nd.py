"""Average pooling."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import pooling_nd


class AveragePoolingND(pooling_nd._PoolingND):
    op = "average_pooling"
    cover_all = False

    def __init__(self, ndim, ksize, stride=None, pad=0, cover_all=False, pad_value=0):
        if not (pad_value is None or pad_value == 0):
            raise ValueError(f"pad_value must be either 0 or None, not {pad_value}.")
        if cover_all:
            raise ValueError("`cover_all` mode is not supported yet.")
        super().__init__(ndim, ksize, stride, pad, pad_value=pad_value)

    pad_value = property(lambda self: self.op_params["pad_value"])


def _checked(x, ksize, stride, pad, pad_value):
    return AveragePoolingND(x.ndim - 2, ksize, stride, pad, pad_value=pad_value).apply((x,))[0]


_average_pooling = frontend.bind("average_pooling", _checked)


def average_pooling_nd(x, ksize, stride=None, pad=0, pad_value=0):
    """Mean of each window over the axes of x (batch, channel, …) after the first two, three at most.

    `ksize`, `stride` (default: `ksize`) and `pad` are an int or one per axis. The padding counts as zeros
    with `pad_value` 0, not at all with None; ValueError for another. Raises InvalidType where x is not
    floating or has no such axis.
    """
    if x.ndim == 4:  # else AveragePooling2D would show the function
        return _checked(x, ksize, stride, pad, pad_value)
    return _average_pooling(x, ksize, ksize if stride is None else stride, pad, pad_value)


def average_pooling_1d(x, ksize, stride=None, pad=0, pad_value=0):
    """`average_pooling_nd` of x (batch, channel, length); ValueError for another number of axes."""
    _spatial.check_ndim(x, 1)
    return average_pooling_nd(x, ksize, stride, pad, pad_value)


def average_pooling_3d(x, ksize, stride=None, pad=0, pad_value=0):
    """`average_pooling_nd` of x (batch, channel, depth, height, width); ValueError for another number of
    axes.
    """
    _spatial.check_ndim(x, 3)
    return average_pooling_nd(x, ksize, stride, pad, pad_value)
