"""Spatial pyramid pooling."""

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.pooling.max_pooling_nd import max_pooling_2d


def _window(length, bins):
    """Size and padding of `bins` windows that cover `length`."""
    ksize = -(-length // bins)
    return ksize, (ksize * bins - length) // 2


def spatial_pyramid_pooling_2d(x, pyramid_height, pooling=None):
    """Max pooling of x (batch, channel, height, width) into 1, 2 × 2, 4 × 4, … windows: (batch, values, 1,
    1).

    `pyramid_height` is the number of these grids. `pooling` must be "max", else ValueError. He et al. 2014.
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
