"""Average pooling over two axes."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import average_pooling_nd, pooling_2d


class AveragePooling2D(pooling_2d.Pooling2D, show=False):
    op = "average_pooling"

    def __init__(self, ksize, stride=None, pad=0, cover_all=False):
        super().__init__(ksize, stride, pad)
        self.cover_all = cover_all

    cover_all = False

    def _run_bound(self, inputs):
        p = self.op_params
        _spatial.outsize(inputs[0].shape[2:], p["ksize"], p["stride"], p["pad"])
        return super()._run_bound(inputs)


frontend.node_classes["average_pooling"] = _spatial.by_rank(
    "ksize", AveragePooling2D, average_pooling_nd.AveragePoolingND
)


def _checked(x, ksize, stride, pad):
    return AveragePooling2D(ksize, stride, pad).apply((x,))[0]


_average_pooling = frontend.bind("average_pooling", _checked)


def average_pooling_2d(x, ksize, stride=None, pad=0):
    """Mean of each window of x (batch, channel, height, width); the padding counts as zeros.

    `ksize`, `stride` (default: `ksize`) and `pad` are an int or a pair. Raises InvalidType where x is not
    floating or has another number of axes.
    """
    if x.ndim != 4:
        return _checked(x, ksize, stride, pad)
    ksize = _spatial.pair(ksize)  # the number of axes says which class shows the function
    return _average_pooling(x, ksize, ksize if stride is None else stride, pad)
