"""Sizes of convolutions, and their patches as arrays. Mirrors ``chainer.utils.conv``."""

import itertools

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.utils import conv_nd_kernel


def get_conv_outsize(size, k, s, p, cover_all=False, d=1):
    """The output size of a convolution along one axis.

    `size` is the input's, `k` the kernel's, `s` the stride, `p` the padding at each end, `d` the dilation.
    With `cover_all` a last, partial window counts.
    """
    span = size + 2 * p - ((k - 1) * d + 1)
    return (span + s - 1 if cover_all else span) // s + 1


def get_deconv_outsize(size, k, s, p, cover_all=False, d=1):
    """The output size of a transposed convolution along one axis; the arguments are those of
    `get_conv_outsize`.
    """
    out = s * (size - 1) + (k - 1) * d + 1 - 2 * p
    return out - s + 1 if cover_all else out


def _taps(ksize, stride, dilate, outs):
    """For each element of the kernel: its index, and the slices of the padded image that it meets."""
    for index in itertools.product(*map(range, ksize)):
        starts = [i * d for i, d in zip(index, dilate, strict=True)]
        yield (
            index,
            tuple([slice(i, i + s * out, s) for i, s, out in zip(starts, stride, outs, strict=True)]),
        )


def _im2col(img, ksize, stride, pad, pval, outs, dilate):
    assert all(out > 0 for out in outs), f"Output sizes should be positive: {outs}"
    shape = img.shape[:2] + tuple(ksize) + tuple(outs)
    if isinstance(img, cuda.ndarray) and pval == 0:
        kernel = conv_nd_kernel.Im2colNDKernel
        return _run_kernel(kernel, img, shape, img.shape[2:], outs, ksize, stride, pad, dilate)
    xp = backend.get_array_module(img)
    widths = [(0, 0), (0, 0)] + [(p, p + s - 1) for s, p in zip(stride, pad, strict=True)]
    img = xp.pad(img, widths, mode="constant", constant_values=pval)
    col = xp.empty(shape, dtype=img.dtype)
    for index, window in _taps(ksize, stride, dilate, outs):
        col[(slice(None), slice(None), *index)] = img[(slice(None), slice(None), *window)]
    return col


def _col2im(col, stride, pad, dims, dilate):
    ndim = len(dims)
    ksize, outs = col.shape[2 : 2 + ndim], col.shape[2 + ndim :]
    if isinstance(col, cuda.ndarray):
        kernel = conv_nd_kernel.Col2imNDKernel
        return _run_kernel(kernel, col, col.shape[:2] + tuple(dims), dims, outs, ksize, stride, pad, dilate)
    padded = [n + 2 * p + s - 1 for n, p, s in zip(dims, pad, stride, strict=True)]
    img = numpy.zeros(col.shape[:2] + tuple(padded), dtype=col.dtype)
    for index, window in _taps(ksize, stride, dilate, outs):
        img[(slice(None), slice(None), *window)] += col[(slice(None), slice(None), *index)]
    return img[(slice(None), slice(None), *[slice(p, n + p) for n, p in zip(dims, pad, strict=True)])]


def _run_kernel(kernel, x, shape, *sizes):
    result = cuda.cupy.empty(shape, dtype=x.dtype)
    numbers = [number for size in sizes for number in size]
    cuda.elementwise(*kernel.generate(len(sizes[0])))(cuda.cupy.ascontiguousarray(x), *numbers, result)
    return result


def im2col_cpu(img, kh, kw, sy, sx, ph, pw, pval=0, cover_all=False, dy=1, dx=1, out_h=None, out_w=None):
    """The patches of images (n, c, h, w) as an array (n, c, kh, kw, out_h, out_w), `pval` in the padding."""
    h, w = img.shape[2:]
    if out_h is None:
        out_h = get_conv_outsize(h, kh, sy, ph, cover_all, dy)
    if out_w is None:
        out_w = get_conv_outsize(w, kw, sx, pw, cover_all, dx)
    return _im2col(img, (kh, kw), (sy, sx), (ph, pw), pval, (out_h, out_w), (dy, dx))


def im2col(img, kh, kw, sy, sx, ph, pw, cover_all=False, dy=1, dx=1, out_h=None, out_w=None):
    """As `im2col_cpu`, with 0 in the padding."""
    return im2col_cpu(img, kh, kw, sy, sx, ph, pw, 0, cover_all, dy, dx, out_h, out_w)


def col2im(col, sy, sx, ph, pw, h, w, dy=1, dx=1):
    """The images (n, c, h, w) that patches (n, c, kh, kw, out_h, out_w) add up to."""
    return _col2im(col, (sy, sx), (ph, pw), (h, w), (dy, dx))


im2col_gpu = im2col
col2im_cpu = col2im_gpu = col2im
