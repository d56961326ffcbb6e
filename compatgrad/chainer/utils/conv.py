"""Sizes of the results of convolutions, and their patches as arrays. Mirrors ``chainer.utils.conv``."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.utils import conv_nd_kernel

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray


def get_conv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """The output length of a convolution, or a pooling, along one axis.

    Args:
        size: length of the input.
        k: length of the window.
        s: stride.
        p: padding at each end.
        cover_all: True counts a last, partial window too.
        d: dilation: distance between the elements of the window.

    Returns:
        The number of positions of the window; it is negative or 0 for a window that is longer than the input.

    Raises:
        ZeroDivisionError: `s` is 0.

    Example:
        >>> chainer.utils.get_conv_outsize(10, 3, 2, 1), chainer.utils.get_conv_outsize(10, 3, 2, 1, cover_all=True)
        (5, 6)

    Source: `chainer.utils.get_conv_outsize` of Chainer 7.8.1.
    """
    span = size + 2 * p - ((k - 1) * d + 1)
    return (span + s - 1 if cover_all else span) // s + 1


def get_deconv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """The output length of a transposed convolution along one axis: the length of an input for which a convolution of
    these parameters gives `size`.

    Args:
        size: length of the input.
        k: length of the window.
        s: stride.
        p: padding that the convolution has at each end.
        cover_all: whether the convolution has a last, partial window.
        d: dilation: distance between the elements of the window.

    Returns:
        The length of the output.

    Raises:
        TypeError: an argument is no number.

    Example:
        >>> chainer.utils.get_deconv_outsize(5, 4, 2, 1)
        10

    Source: `chainer.utils.get_deconv_outsize` of Chainer 7.8.1.
    """
    out = s * (size - 1) + (k - 1) * d + 1 - 2 * p
    return out - s + 1 if cover_all else out


def _taps(ksize, stride, dilate, outs):
    """For each element of the kernel: its index, and the slices of the padded image by which it is multiplied."""
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


def im2col_cpu(
    img: NdArray,
    kh: int,
    kw: int,
    sy: int,
    sx: int,
    ph: int,
    pw: int,
    pval: float = 0,
    cover_all: bool = False,
    dy: int = 1,
    dx: int = 1,
    out_h: int | None = None,
    out_w: int | None = None,
) -> NdArray:
    """The patches of images that the windows of a convolution cover.

    Args:
        img: images of shape (n, c, h, w) and any dtype.
        kh, kw: height and width of the window.
        sy, sx: strides.
        ph, pw: padding at both ends of the axes.
        pval: value of the padding.
        cover_all: True adds a last, partial window.
        dy, dx: dilation: distances between the elements of the window.
        out_h, out_w: number of positions of the window; None computes them by `get_conv_outsize`.

    Returns:
        Array of shape (n, c, kh, kw, out_h, out_w) and the dtype of `img`.

    Raises:
        AssertionError: a window is larger than the padded image.
        ValueError: `img` has not 4 axes.

    Example:
        >>> img = np.arange(9).reshape(1, 1, 3, 3)
        >>> chainer.utils.conv.im2col_cpu(img, 2, 2, 1, 1, 0, 0)[0, 0, :, :, 0, 0]
        array([[0, 1],
               [3, 4]])

    Source: `chainer.utils.conv.im2col_cpu` of Chainer 7.8.1.
    """
    h, w = img.shape[2:]
    if out_h is None:
        out_h = get_conv_outsize(h, kh, sy, ph, cover_all, dy)
    if out_w is None:
        out_w = get_conv_outsize(w, kw, sx, pw, cover_all, dx)
    return _im2col(img, (kh, kw), (sy, sx), (ph, pw), pval, (out_h, out_w), (dy, dx))


def im2col(
    img: NdArray,
    kh: int,
    kw: int,
    sy: int,
    sx: int,
    ph: int,
    pw: int,
    cover_all: bool = False,
    dy: int = 1,
    dx: int = 1,
    out_h: int | None = None,
    out_w: int | None = None,
) -> NdArray:
    """The patches of images that the windows of a convolution cover, with 0 in the padding; on a GPU by a kernel.

    Args:
        img: images of shape (n, c, h, w) and any dtype.
        kh, kw: height and width of the window.
        sy, sx: strides.
        ph, pw: padding at both ends of the axes.
        cover_all: True adds a last, partial window.
        dy, dx: dilation: distances between the elements of the window.
        out_h, out_w: number of positions of the window; None computes them by `get_conv_outsize`.

    Returns:
        Array of shape (n, c, kh, kw, out_h, out_w) and the dtype of `img`.

    Raises:
        AssertionError: a window is larger than the padded image.
        ValueError: `img` has not 4 axes.

    Example:
        >>> chainer.utils.conv.im2col(np.zeros((1, 3, 8, 8)), 3, 3, 2, 2, 1, 1).shape
        (1, 3, 3, 3, 4, 4)

    Source: `chainer.utils.conv.im2col_gpu` of Chainer 7.8.1, for all arrays.
    """
    return im2col_cpu(img, kh, kw, sy, sx, ph, pw, 0, cover_all, dy, dx, out_h, out_w)


def col2im(col: NdArray, sy: int, sx: int, ph: int, pw: int, h: int, w: int, dy: int = 1, dx: int = 1) -> NdArray:
    """The images to which patches add up: the transpose of `im2col`.

    Args:
        col: patches of shape (n, c, kh, kw, out_h, out_w).
        sy, sx: strides.
        ph, pw: padding that the images had at both ends of the axes.
        h, w: height and width of the images.
        dy, dx: dilation: distances between the elements of a window.

    Returns:
        Array of shape (n, c, h, w) and the dtype of `col`: each pixel is the sum of the elements of the patches that
        were read from it.

    Raises:
        ValueError: the patches do not fit into images of that size.

    Example:
        >>> chainer.utils.conv.col2im(np.ones((1, 1, 2, 2, 2, 2)), 1, 1, 0, 0, 3, 3)[0, 0]
        array([[1., 2., 1.],
               [2., 4., 2.],
               [1., 2., 1.]])

    Source: `chainer.utils.conv.col2im_cpu` and `col2im_gpu` of Chainer 7.8.1.
    """
    return _col2im(col, (sy, sx), (ph, pw), (h, w), (dy, dx))


im2col_gpu = im2col
col2im_cpu = col2im_gpu = col2im
