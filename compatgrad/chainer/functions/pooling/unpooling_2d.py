"""Unpooling over two axes."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import pooling_2d, unpooling_nd


class _Unpooling2D(pooling_2d.Pooling2D):
    _outsize = "outsize"

    outh = property(lambda self: (self.op_params[self._outsize] or (None,))[0])
    outw = property(lambda self: (self.op_params[self._outsize] or (None,))[-1])

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        if self.outh is not None:
            p = self.op_params
            unpooling_nd._expect_pooled_size(
                in_types[0], p["ksize"], p["stride"], p["pad"], p[self._outsize], self.cover_all
            )


class Unpooling2D(_Unpooling2D, show=False):
    op = "unpooling"

    def __init__(self, ksize, stride=None, pad=0, outsize=None, cover_all=True):
        super().__init__(ksize, stride, pad, outsize=outsize, cover_all=cover_all)

    cover_all = property(lambda self: self.op_params["cover_all"])


frontend.node_classes["unpooling"] = _spatial.by_rank("ksize", Unpooling2D, unpooling_nd.UnpoolingND)


def _checked(x, ksize, stride, pad, outsize, cover_all):
    return Unpooling2D(ksize, stride, pad, outsize, cover_all).apply((x,))[0]


_unpooling = frontend.bind("unpooling", _checked)


def unpooling_2d(x, ksize, stride=None, pad=0, outsize=None, cover_all=True):
    """`unpooling_nd` of x (batch, channel, height, width); `ksize`, `stride`, `pad`, `outsize`: an int or a
    pair.
    """
    if outsize is not None or x.ndim != 4:
        return _checked(x, ksize, stride, pad, outsize, cover_all)
    ksize = _spatial.pair(ksize)  # the number of axes says which class shows the function
    return _unpooling(x, ksize, ksize if stride is None else stride, pad, None, cover_all)
