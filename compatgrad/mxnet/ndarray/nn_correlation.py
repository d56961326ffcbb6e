"""Correlation: compares patches of two images at several displacements."""

from __future__ import annotations

import math

from ..base import MXNetError
from ._arguments import public_names, require_ndim, require_shape
from ._operator import op, operator
from .ndarray import NDArray


def _part(x: NDArray, top: int, left: int, size: tuple[int, int], stride: int) -> NDArray:
    rows, columns = (slice(a, a + (n - 1) * stride + 1, stride) for a, n in zip((top, left), size, strict=True))
    return op.get_item(x, index=(slice(None), rows, columns))


def _distance(x: NDArray, y: NDArray) -> NDArray:
    """abs(x - y); where both are equal, the gradient is 1 for x and -1 for y, as in the original."""
    far = op.sub(x, y)
    return op.where(op.greater_equal_scalar(far, value=0), far, op.neg(far))


@operator("data1, data2", outputs="output, kept1?, kept2?")
def Correlation(data1, data2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=0, is_multiply=True):
    """The correlation of patches of two images: (batch, displacements, height, width).

    Patches of kernel_size x kernel_size pixels lie `stride1` apart in data1 (batch, channels, height, width); each is
    compared with those of data2 that lie up to `max_displacement` away in steps of `stride2`; vertical displacements
    vary slowest. The result is the mean of products of pixels, or of their absolute differences without `is_multiply`.
    MXNetError for an even kernel, and where the border leaves no pixel of the image.

    Returns:
        NDArray of the dtype of `data1`, shape (batch, displacements, height, width).

    Example:
        >>> nd.Correlation(nd.ones((1, 2, 3, 3)), nd.ones((1, 2, 3, 3)), max_displacement=1, pad_size=1).shape
        (1, 9, 3, 3)
    """
    name = "Correlation"
    require_ndim(name, "data1", data1, 4)
    require_shape(name, "data2", data2.shape, data1.shape)
    if kernel_size < 1 or kernel_size % 2 == 0:
        raise MXNetError(f"{name}: kernel_size must be an odd number, got {kernel_size}")
    if min(stride1, stride2) < 1 or min(max_displacement, pad_size) < 0:
        raise MXNetError(f"{name}: strides must be positive, max_displacement and pad_size not negative")
    border = 2 * (max_displacement + kernel_size // 2)
    size = tuple(math.ceil((n + 2 * pad_size - border) / stride1) for n in data1.shape[2:])
    if min(size) < 1:
        raise MXNetError(f"{name}: images {data1.shape[2:]} with pad {pad_size} are smaller than a border of {border}")
    widths = (0, 0, 0, 0, *(pad_size,) * 4)
    x, y = (op.pad(v, pad_width=widths) if pad_size else v for v in (data1, data2))
    radius = max_displacement // stride2
    steps = [d * stride2 for d in range(-radius, radius + 1)]
    d, (height, width) = max_displacement, x.shape[2:]
    inner = op.get_item(x, index=(slice(None), slice(None), slice(d, height - d), slice(d, width - d)))
    found = []
    for down in steps:
        for right in steps:
            there = (slice(d + down, height - d + down), slice(d + right, width - d + right))
            other = op.get_item(y, index=(slice(None), slice(None), *there))
            alike = op.mean((op.mul if is_multiply else _distance)(inner, other), axis=(1,))
            taps = [_part(alike, i, j, size, stride1) for i in range(kernel_size) for j in range(kernel_size)]  # type: ignore[arg-type]
            found.append(op.add_n(taps) / kernel_size**2 if len(taps) > 1 else taps[0])
    return op.stack(found, axis=1)


__all__ = public_names(globals())
