"""Upsampling: each element is written to one place of its window."""

from compatgrad.chainer.functions.pooling import unpooling_2d
from compatgrad.chainer.utils import conv, type_check


class Upsampling2D(unpooling_2d._Unpooling2D):
    op = "max_pooling_grad"
    _outsize = "insize"
    cover_all = True

    def __init__(self, indexes, ksize, stride=None, pad=0, outsize=None, cover_all=True):
        super().__init__(ksize, stride, pad, insize=outsize)
        self.indexes = indexes
        self.cover_all = cover_all

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        type_check.expect(in_types[0].shape == self.indexes.shape)

    def _run_bound(self, inputs):
        p = dict(self.op_params)
        if p["insize"] is None:
            sizes = zip(inputs[0].shape[2:], p["ksize"], p["stride"], p["pad"], strict=True)
            p["insize"] = [conv.get_deconv_outsize(n, k, s, w, self.cover_all) for n, k, s, w in sizes]
        volume = self.kh * self.kw
        if not ((self.indexes >= -volume) & (self.indexes < volume)).all():
            raise IndexError(f"upsampling_2d: an index is out of range for a window of {volume}")
        return self._bound._apply_as(self, inputs[0], self.indexes % volume, **p)


def upsampling_2d(x, indexes, ksize, stride=None, pad=0, outsize=None, cover_all=True):
    """Writes each element of x to the place of its window that `indexes` names and adds where windows
    overlap.

    x (batch, channel, height, width) and `indexes` are what `max_pooling_2d` gives with `return_indices`; the
    other arguments are those of `unpooling_2d`. Raises InvalidType where shapes do not fit, IndexError for a
    place outside the window.
    """
    return Upsampling2D(indexes, ksize, stride, pad, outsize, cover_all).apply((x,))[0]
