"""ChainerX's names; ChainerX itself is never available."""

from __future__ import annotations

from typing import Any

from compatgrad import chainerx
from compatgrad.chainer import _backend
from compatgrad.chainer.backends import cuda


def _check_available():
    raise RuntimeError("ChainerX is not available.")


class ChainerxDevice(_backend.Device):
    """Device of ChainerX, which compatgrad does not have: creating one raises RuntimeError.

    Args:
        device: the device.

    Raises:
        RuntimeError: always.

    Example:
        >>> chainer.backend.ChainerxDevice("native:0")
        Traceback (most recent call last):
          ...
        RuntimeError: ChainerX is not available.

    Source: `chainer.backend.ChainerxDevice` of Chainer 7.8.1.
    """

    xp = chainerx
    supported_array_types = (chainerx.ndarray,)

    __hash__ = _backend.Device.__hash__

    def __init__(self, device: Any) -> None:
        _check_available()

    @staticmethod
    def from_array(array: Any) -> None:
        """None: no array is ChainerX's."""
        return None

    @staticmethod
    def from_fallback_device(device: Any) -> None:
        """Raises RuntimeError."""
        _check_available()

    def __eq__(self, other):
        return isinstance(other, ChainerxDevice)


def to_chx(array: Any) -> Any:
    """Not available, as compatgrad has no ChainerX: raises RuntimeError.

    Args:
        array: the array.

    Returns:
        Nothing; it always raises.

    Raises:
        RuntimeError: always.

    Example:
        >>> chainer.backend.to_chx(np.zeros(2))
        Traceback (most recent call last):
          ...
        RuntimeError: ChainerX is not available.

    Source: `chainer.backend.to_chx` of Chainer 7.8.1.
    """
    _check_available()


def from_chx(array: Any) -> Any:
    """Turns arrays of ChainerX into arrays of NumPy or CuPy. As compatgrad has no ChainerX, it returns the arrays
    unchanged.

    Args:
        array: an array, or a list or tuple of them; None stays None.

    Returns:
        The same arrays.

    Raises:
        TypeError: `array` is no array.

    Example:
        >>> chainer.backend.from_chx(np.array([1, 2]))
        array([1, 2])

    Source: `chainer.backend.from_chx` of Chainer 7.8.1.
    """
    return _backend._convert_arrays(array, _array_from_chainerx)


def _array_from_chainerx(array):
    if array is not None and not isinstance(array, cuda.array_types):
        raise TypeError(f"not an array: {type(array)}")
    return array
