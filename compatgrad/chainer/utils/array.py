"""Small functions on arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer import backend

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray


def _warn(name, instead):
    warnings.warn(
        f"chainer.utils.array.{name} is deprecated; use {instead} of the array module.",
        DeprecationWarning,
        stacklevel=3,
    )


def as_vec(x: NdArray) -> NdArray:
    """An array with one axis. Deprecated, with a DeprecationWarning: `ravel` does the same.

    Args:
        x: the array.

    Returns:
        A view where possible; `x` itself where it has one axis.

    Raises:
        AttributeError: `x` is no array.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     chainer.utils.array.as_vec(np.array([[1, 2], [3, 4]]))
        array([1, 2, 3, 4])

    Source: `chainer.utils.array.as_vec` of Chainer 7.8.1.
    """
    _warn("as_vec", "ravel")
    return x if x.ndim == 1 else x.ravel()


def as_mat(x: NdArray) -> NdArray:
    """An array with two axes, the first of which is kept. Deprecated, with a DeprecationWarning: `reshape` does the
    same.

    Args:
        x: the array, of at least one axis.

    Returns:
        A view where possible, shape (len(x), rest); `x` itself where it has two axes.

    Raises:
        AttributeError: `x` is no array.
        TypeError: `x` has no axis.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     chainer.utils.array.as_mat(np.zeros((2, 3, 4))).shape
        (2, 12)

    Source: `chainer.utils.array.as_mat` of Chainer 7.8.1.
    """
    _warn("as_mat", "reshape")
    return x if x.ndim == 2 else x.reshape(len(x), -1)


def empty_like(x: NdArray) -> NdArray:
    """An array of the shape, dtype and array module of another, not initialized. Deprecated, with a DeprecationWarning.

    Args:
        x: the other array.

    Returns:
        The new array.

    Raises:
        DeprecationWarning: warnings are made errors.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     chainer.utils.array.empty_like(np.zeros((2, 3))).shape
        (2, 3)

    Source: `chainer.utils.array.empty_like` of Chainer 7.8.1.
    """
    _warn("empty_like", "empty_like")
    return backend.get_array_module(x).empty_like(x)


def size_of_shape(shape: Iterable[int]) -> int:
    """The number of elements of an array.

    Args:
        shape: its shape.

    Returns:
        The product of the lengths of the axes, 1 for ().

    Raises:
        TypeError: `shape` cannot be iterated over or has something other than numbers.

    Example:
        >>> chainer.utils.size_of_shape((2, 3, 4))
        24

    Source: `chainer.utils.size_of_shape` of Chainer 7.8.1.
    """
    return int(math.prod(shape))


def sum_to(x: NdArray, shape: tuple[int, ...]) -> NdArray:
    """Sums an array over those axes along which an array of the given shape would be broadcast to it: the backward of
    broadcasting.

    Args:
        x: array of any dtype.
        shape: shape of the result, which can be broadcast to that of `x`.

    Returns:
        The sum, `x` itself where it has the shape.

    Raises:
        TypeError: `x` is a Variable of another shape.
        ValueError: `shape` cannot be broadcast to that of `x`.

    Example:
        >>> chainer.utils.sum_to(np.array([[1, 2], [3, 4]]), (1, 2))
        array([[4, 6]])

    Source: `chainer.utils.sum_to` of Chainer 7.8.1.
    """
    if x.shape == shape:
        return x
    if isinstance(x, _C.Variable):
        raise TypeError("chainer.utils.sum_to takes arrays; use chainer.functions.sum_to for a Variable.")
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple([i + lead for i, size in enumerate(shape) if size == 1])
    return x.sum(axes, keepdims=True).reshape(shape)
