"""Small functions on arrays."""

import math
import warnings

from compatgrad import _C
from compatgrad.chainer import backend


def _warn(name, instead):
    warnings.warn(
        f"chainer.utils.array.{name} is deprecated; use {instead} of the array module.",
        DeprecationWarning,
        stacklevel=3,
    )


def as_vec(x):
    """`x` with one axis. Deprecated."""
    _warn("as_vec", "ravel")
    return x if x.ndim == 1 else x.ravel()


def as_mat(x):
    """`x` with two axes, the first one kept. Deprecated."""
    _warn("as_mat", "reshape")
    return x if x.ndim == 2 else x.reshape(len(x), -1)


def empty_like(x):
    """An array like `x`, not initialised. Deprecated."""
    _warn("empty_like", "empty_like")
    return backend.get_array_module(x).empty_like(x)


def size_of_shape(shape):
    """The number of elements of an array of that shape."""
    return int(math.prod(shape))


def sum_to(x, shape):
    """The sum of array `x` over the axes along which `shape` would be broadcast to it. TypeError for a
    Variable.
    """
    if x.shape == shape:
        return x
    if isinstance(x, _C.Variable):
        raise TypeError("chainer.utils.sum_to takes arrays; use chainer.functions.sum_to for a Variable.")
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple([i + lead for i, size in enumerate(shape) if size == 1])
    return x.sum(axes, keepdims=True).reshape(shape)
