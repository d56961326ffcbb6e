"""ChainerX, which is never there."""

from compatgrad import chainerx
from compatgrad.chainer import _backend
from compatgrad.chainer.backends import cuda


def _check_available():
    raise RuntimeError("ChainerX is not available.")


class ChainerxDevice(_backend.Device):
    """ChainerX's device. Making one raises RuntimeError."""

    xp = chainerx
    supported_array_types = (chainerx.ndarray,)

    __hash__ = _backend.Device.__hash__

    def __init__(self, device):
        _check_available()

    @staticmethod
    def from_array(array):
        """None: no array is ChainerX's."""
        return None

    @staticmethod
    def from_fallback_device(device):
        """Raises RuntimeError."""
        _check_available()

    def __eq__(self, other):
        return isinstance(other, ChainerxDevice)


def to_chx(array):
    """Raises RuntimeError."""
    _check_available()


def from_chx(array):
    """`array`, or the list or tuple of arrays, as it is. Raises TypeError for what is no array."""
    return _backend._convert_arrays(array, _array_from_chainerx)


def _array_from_chainerx(array):
    if array is not None and not isinstance(array, cuda.array_types):
        raise TypeError(f"not an array: {type(array)}")
    return array
