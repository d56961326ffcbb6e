"""Deformable convolution: the filter's elements are placed by an input."""

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.pad import pad as pad_with
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.spatial_transformer_sampler import spatial_transformer_sampler
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math.matmul import matmul


def deformable_convolution_2d_sampler(x, offset, W, b=None, stride=1, pad=0):
    """Convolution of x (N, C, H, W) with W (out, C, kh, kw) and b (out,), of which `offset` moves the places
    read.

    `offset` (N, 2 * kh * kw, out_h, out_w): along the width first, then along the height; else ValueError.
    `stride` and `pad`: an int or a pair. Dai et al. 2017.
    """
    sy, sx = _spatial.pair(stride)
    ph, pw = _spatial.pair(pad)
    out, channels, kh, kw = W.shape
    n, _, height, width = x.shape
    _, places, out_h, out_w = offset.shape
    if places != 2 * kh * kw:
        raise ValueError("The shape of the offset does not match the kernel size")
    grid = _grid(offset, kh, kw, sy, sx, height + 2 * ph, width + 2 * pw)
    grid = reshape(grid, (n, 2, kh * kw, out_h * out_w))
    x = spatial_transformer_sampler(pad_with(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), "constant"), grid)
    x = reshape(transpose(x, (0, 3, 1, 2)), (n * out_h * out_w, channels * kh * kw))
    y = matmul(x, reshape(transpose(W, (1, 2, 3, 0)), (channels * kh * kw, out)))
    y = transpose(reshape(y, (n, out_h, out_w, out)), (0, 3, 1, 2))
    return y if b is None else y + reshape(b, (1, out, 1, 1))


def _grid(offset, kh, kw, sy, sx, height, width):
    """Where the filter's elements read, in the sampler's coordinates: -1 to 1 along the width and the
    height.
    """
    xp = backend.get_array_module(offset)
    out_h, out_w = offset.shape[2:]
    ky, kx = xp.divmod(xp.arange(kh * kw), kw)
    x = offset[:, : kh * kw] + (kx[:, None, None] + sx * xp.arange(out_w)).astype(offset.dtype)
    y = offset[:, kh * kw :] + (ky[:, None, None] + sy * xp.arange(out_h)[:, None]).astype(offset.dtype)
    return concat([(x / (width - 1) - 0.5) * 2, (y / (height - 1) - 0.5) * 2])
