"""Spatial pyramid pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.pooling.max_pooling_nd import max_pooling_2d

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _window(length, bins):
    """Size and padding of `bins` windows that cover `length`."""
    ksize = -(-length // bins)
    return ksize, (ksize * bins - length) // 2


def spatial_pyramid_pooling_2d(x: VariableOrArray, pyramid_height: int, pooling: str | None = None) -> Variable:
    """Max pooling into 1, 2 by 2, 4 by 4, ... windows that cover the image.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        pyramid_height: the number of these grids.
        pooling: "max".

    Returns:
        Variable of the dtype of `x`, (n, c (1 + 4 + 16 + ...), 1, 1): a vector of one length for images of any size.

    Raises:
        ValueError: `pooling` is not "max".
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.spatial_pyramid_pooling_2d(np.arange(9.0).reshape(1, 1, 3, 3), 2, pooling="max").array.ravel()
        array([8., 4., 5., 7., 8.])

    Source: `chainer.functions.spatial_pyramid_pooling_2d` of Chainer 7.8.1; He et al. 2014.
    """
    height, width = x.shape[2:]
    ys = []
    for level in range(pyramid_height):
        if pooling != "max":
            raise ValueError("Unsupported pooling operation: ", pooling)
        (kh, ph), (kw, pw) = _window(height, 2**level), _window(width, 2**level)
        y = max_pooling_2d(x, (kh, kw), None, (ph, pw), True)
        ys.append(reshape(y, (y.shape[0], -1, 1, 1)))
    return concat(ys)
