"""The base class of initializers."""

from __future__ import annotations

from typing import Any

from compatgrad.chainer.utils import size_of_shape


class Initializer:
    """Base class of initializers: callables that fill an array in place. A subclass defines `__call__(array)`.

    Args:
        dtype: the dtype that the array must have; None for any.

    Example:
        >>> class Steps(chainer.Initializer):
        ...     def __call__(self, array):
        ...         array[...] = np.arange(array.size).reshape(array.shape)
        >>> chainer.Parameter(Steps(), (2, 2)).array
        array([[0., 1.],
               [2., 3.]], dtype=float32)

    Source: `chainer.Initializer` of Chainer 7.8.1.
    """

    def __init__(self, dtype: Any = None) -> None:
        self.dtype = dtype

    def __call__(self, array):
        """Fills `array`."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    def _check_dtype(self, array):
        assert self.dtype is None or array.dtype == self.dtype, f"{array.dtype} != {self.dtype}"


def get_fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """fan_in and fan_out of weights of a shape: the numbers of inputs and of outputs of a unit.

    Args:
        shape: (out, in, ...): further axes are those of a filter.

    Returns:
        Two ints: in and out, each multiplied by the number of elements of the filter.

    Raises:
        ValueError: `shape` is no tuple of two or more numbers.

    Example:
        >>> chainer.initializer.get_fans((8, 3, 5, 5))
        (75, 200)

    Source: `chainer.initializer.get_fans` of Chainer 7.8.1.
    """
    if not isinstance(shape, tuple):
        raise ValueError(f"shape must be tuple. Actual type: {type(shape)}")
    if len(shape) < 2:
        raise ValueError(f"shape must be of length >= 2. Actual shape: {shape}")
    receptive_field = size_of_shape(shape[2:])
    return shape[1] * receptive_field, shape[0] * receptive_field
