"""Deformable convolution: the filter's elements are placed by an input."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.convolution_2d import convolution_2d

_deform_columns = frontend.bind("deform_columns")


def deformable_convolution_2d_sampler(x, offset, W, b=None, stride=1, pad=0):
    """Convolution of x (N, C, H, W) with W (out, C, kh, kw) and b (out,), of which `offset` moves the places
    read.

    `offset` (N, 2 * kh * kw, out_h, out_w): along the width first, then along the height; else ValueError.
    `stride` and `pad`: an int or a pair. Beyond the image are zeros. Dai et al. 2017.
    """
    out, channels, kh, kw = W.shape
    n, places, out_h, out_w = offset.shape
    if places != 2 * kh * kw:
        raise ValueError(
            f"The shape of the offset does not match the kernel size: {places} channels, expected {2 * kh * kw}"
        )
    columns, rows = split_axis(offset, 2, 1)
    offset = reshape(stack([rows, columns], axis=2), offset.shape)
    x = _deform_columns(x, offset, ksize=(kh, kw), stride=_spatial.pair(stride), pad=_spatial.pair(pad))
    return convolution_2d(x, reshape(W, (out, channels * kh * kw, 1, 1)), b)
