"""Max pooling."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import pooling_nd


class MaxPoolingND(pooling_nd._PoolingND):
    op = "max_pooling"
    indexes = None  # positions of the maxima in their windows, once applied with `return_indices`

    def __init__(self, ndim, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
        super().__init__(ndim, ksize, stride, pad, cover_all=cover_all, return_indices=return_indices)

    cover_all = property(lambda self: self.op_params["cover_all"])
    return_indices = property(lambda self: self.op_params["return_indices"])

    def _run_bound(self, inputs):
        if not self.return_indices:
            return super()._run_bound(inputs)
        if self.ndim > 3:
            raise NotImplementedError("max_pooling_nd: return_indices over more than three axes")
        y, indexes = super()._run_bound(inputs)
        self.indexes = indexes.array
        return y


def _checked(x, ksize, stride, pad, cover_all, return_indices=False):
    function = MaxPoolingND(x.ndim - 2, ksize, stride, pad, cover_all, return_indices)
    return function.apply((x,))[0]


_max_pooling = frontend.bind("max_pooling", _checked)


def max_pooling_nd(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
    """Maximum of each window over the axes of x (batch, channel, …) after the first two.

    `ksize`, `stride` (default: `ksize`) and `pad` are an int or one per axis. `cover_all`: the last window
    may reach beyond the padding, so that no element is left out. With `return_indices`, also an array of the
    maxima's positions in their windows. Raises InvalidType where x is not floating or has no such axis.
    """
    if return_indices:
        function = MaxPoolingND(x.ndim - 2, ksize, stride, pad, cover_all, True)
        return function.apply((x,))[0], function.indexes
    return _max_pooling(x, ksize, ksize if stride is None else stride, pad, cover_all)


def max_pooling_1d(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
    """`max_pooling_nd` of x (batch, channel, length); ValueError for another number of axes."""
    _spatial.check_ndim(x, 1)
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)


def max_pooling_2d(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
    """`max_pooling_nd` of x (batch, channel, height, width); ValueError for another number of axes."""
    if return_indices or x.ndim != 4:
        _spatial.check_ndim(x, 2)
        return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)
    return _max_pooling(x, ksize, ksize if stride is None else stride, pad, cover_all)


def max_pooling_3d(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
    """`max_pooling_nd` of x (batch, channel, depth, height, width); ValueError for another number of axes."""
    _spatial.check_ndim(x, 3)
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)
