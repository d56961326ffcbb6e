"""The base class of initializers."""

from compatgrad.chainer.utils import size_of_shape


class Initializer:
    """Fills an array in place when called with it. `dtype` is the one that the array must have, None for
    any.
    """

    def __init__(self, dtype=None):
        self.dtype = dtype

    def __call__(self, array):
        """Fills `array`."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    def _check_dtype(self, array):
        assert self.dtype is None or array.dtype == self.dtype, f"{array.dtype} != {self.dtype}"


def get_fans(shape):
    """The numbers of inputs and of outputs of a unit with weights of that shape, (out, in, …).

    Raises ValueError unless `shape` is a tuple of two or more numbers.
    """
    if not isinstance(shape, tuple):
        raise ValueError(f"shape must be tuple. Actual type: {type(shape)}")
    if len(shape) < 2:
        raise ValueError(f"shape must be of length >= 2. Actual shape: {shape}")
    receptive_field = size_of_shape(shape[2:])
    return shape[1] * receptive_field, shape[0] * receptive_field
