"""Shared code of the functions over the axes after the first two: convolution and pooling."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import conv


def pair(x):
    """A pair of values, one per axis; a single value stands for both."""
    return tuple(x) if hasattr(x, "__getitem__") else (x, x)


def entries(x, ndim):
    """A tuple of `ndim` values, one per axis; a single value stands for all."""
    return tuple(x) if hasattr(x, "__getitem__") else (x,) * ndim


def check_ndim(x, ndim):
    """Raises ValueError unless x has `ndim` axes after the first two."""
    if x.ndim != ndim + 2:
        raise ValueError(
            "The number of dimensions under channel dimension of the input 'x' should be "
            f"{ndim}. But the actual ndim was {x.ndim - 2}."
        )


def outsize(image, ksize, stride, pad, dilate=None, cover_all=False):
    """Lengths of the axes of a convolution's or pooling's result. As in Chainer, raises AssertionError if one is not
    positive.
    """
    dilate = (1,) * len(ksize) if dilate is None else dilate
    sizes = zip(image, ksize, stride, pad, dilate, strict=True)
    lengths = [conv.get_conv_outsize(n, k, s, p, cover_all, d) for n, k, s, p, d in sizes]
    for name, n in zip(("Height", "Width") if len(lengths) == 2 else ("Size",) * len(lengths), lengths, strict=True):
        if n <= 0:
            raise AssertionError(f"{name} in the output should be positive.")
    return lengths


def by_rank(parameter, two, other):
    """Chooses the class of an op's nodes: `two` where the op works over two axes, otherwise `other`."""
    return lambda params: two if len(params[parameter]) == 2 else other


class Steps2D:
    """Properties for stride and padding of a function over two axes, with the names that Chainer gives them."""

    sy = _native.parameter("stride", 0)
    sx = _native.parameter("stride", 1)
    ph = _native.parameter("pad", 0)
    pw = _native.parameter("pad", 1)


class Windows2D(Steps2D):
    """As Steps2D, with the sizes of a window."""

    kh = _native.parameter("ksize", 0)
    kw = _native.parameter("ksize", 1)


class Dilated2D(Steps2D):
    """As Steps2D, with the distances between the elements of a filter."""

    dy = _native.parameter("dilate", 0)
    dx = _native.parameter("dilate", 1)
