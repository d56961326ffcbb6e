"""The patches of convolutions with any number of axes. Mirrors ``chainer.utils.conv_nd``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.utils.conv import _col2im, _im2col, get_conv_outsize

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray


def as_tuple(x: Any, n: int) -> tuple[Any, ...]:
    """A tuple with a value for each axis.

    Args:
        x: a sequence of length `n`, or one value for all.
        n: number of axes.

    Returns:
        The tuple.

    Raises:
        AssertionError: `x` is a sequence of another length.

    Example:
        >>> chainer.utils.conv_nd.as_tuple(2, 3), chainer.utils.conv_nd.as_tuple([1, 2], 2)
        ((2, 2, 2), (1, 2))

    Source: `chainer.utils.conv_nd.as_tuple` of Chainer 7.8.1.
    """
    if hasattr(x, "__getitem__"):
        assert len(x) == n
        return tuple(x)
    return (x,) * n


def im2col_nd_cpu(
    img: NdArray,
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    pval: float = 0,
    cover_all: bool = False,
    dilate: int | Sequence[int] = 1,
) -> NdArray:
    """The patches of images with any number of axes that the windows of a convolution cover.

    Args:
        img: images of shape (n, c, d_1, ..., d_N) and any dtype.
        ksize: lengths of the window.
        stride: strides.
        pad: padding at both ends of each axis.
        pval: value of the padding.
        cover_all: True adds last, partial windows.
        dilate: distances between the elements of the window.

    Returns:
        Array of shape (n, c, k_1, ..., k_N, out_1, ..., out_N) and the dtype of `img`.

    Raises:
        AssertionError: an argument does not have N numbers, or a window is larger than the padded image.

    Example:
        >>> chainer.utils.conv_nd.im2col_nd_cpu(np.array([[[1, 2, 3]]]), (2,), (1,), (0,))[0, 0]
        array([[1, 2],
               [2, 3]])

    Source: `chainer.utils.conv_nd.im2col_nd_cpu` of Chainer 7.8.1.
    """
    dims = img.shape[2:]
    dilate = as_tuple(dilate, len(dims))
    assert len(dims) == len(ksize) == len(stride) == len(pad)
    outs = [
        get_conv_outsize(n, k, s, p, cover_all, d)
        for n, k, s, p, d in zip(dims, ksize, stride, pad, dilate, strict=True)
    ]
    return _im2col(img, ksize, stride, pad, pval, outs, dilate)


def im2col_nd(
    img: NdArray,
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    cover_all: bool = False,
    dilate: int | Sequence[int] = 1,
) -> NdArray:
    """The patches of images with any number of axes that the windows of a convolution cover, with 0 in the padding; on
    a GPU by a kernel.

    Args:
        img: images of shape (n, c, d_1, ..., d_N) and any dtype.
        ksize: lengths of the window.
        stride: strides.
        pad: padding at both ends of each axis.
        cover_all: True adds last, partial windows.
        dilate: distances between the elements of the window.

    Returns:
        Array of shape (n, c, k_1, ..., k_N, out_1, ..., out_N) and the dtype of `img`.

    Raises:
        AssertionError: an argument does not have N numbers, or a window is larger than the padded image.

    Example:
        >>> chainer.utils.conv_nd.im2col_nd(np.zeros((1, 3, 8)), (3,), (2,), (1,)).shape
        (1, 3, 3, 4)

    Source: `chainer.utils.conv_nd.im2col_nd_gpu` of Chainer 7.8.1, for all arrays.
    """
    return im2col_nd_cpu(img, ksize, stride, pad, 0, cover_all, dilate)


def col2im_nd(
    col: NdArray, stride: Sequence[int], pad: Sequence[int], dims: Sequence[int], dilate: int | Sequence[int] = 1
) -> NdArray:
    """The images to which patches add up: the transpose of `im2col_nd`.

    Args:
        col: patches of shape (n, c, k_1, ..., k_N, out_1, ..., out_N).
        stride: strides.
        pad: padding that the images had at both ends of each axis.
        dims: lengths of the axes of the images.
        dilate: distances between the elements of a window.

    Returns:
        Array of shape (n, c, *dims) and the dtype of `col`: each element is the sum of the patches' elements that were
        read from it.

    Raises:
        AssertionError: an argument does not have N numbers.

    Example:
        >>> chainer.utils.conv_nd.col2im_nd(np.ones((1, 1, 2, 2)), (1,), (0,), (3,))
        array([[[1., 2., 1.]]])

    Source: `chainer.utils.conv_nd.col2im_nd_cpu` and `col2im_nd_gpu` of Chainer 7.8.1.
    """
    assert len(stride) == len(pad) == len(dims) == (col.ndim - 2) // 2
    return _col2im(col, stride, pad, dims, as_tuple(dilate, len(dims)))


im2col_nd_gpu = im2col_nd
col2im_nd_cpu = col2im_nd_gpu = col2im_nd
