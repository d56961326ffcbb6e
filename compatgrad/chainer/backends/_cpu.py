"""The CPU: NumPy."""

from __future__ import annotations

from typing import Any

import numpy

from compatgrad.chainer import _backend
from compatgrad.core import notes


class CpuDevice(_backend.Device):
    """The CPU, whose arrays are NumPy's; `chainer.get_device("@numpy")` returns it.

    Example:
        >>> chainer.backend.CpuDevice().send([np.array([1, 2]), None])
        [array([1, 2]), None]

    Source: `chainer.backend.CpuDevice` of Chainer 7.8.1.
    """

    name = "@numpy"
    xp = numpy
    supported_array_types = (numpy.ndarray,)

    __hash__ = _backend.Device.__hash__

    @staticmethod
    def from_array(array: Any) -> CpuDevice | None:
        """The device of `array`, None if it is not NumPy's."""
        return CpuDevice() if isinstance(array, numpy.ndarray) else None

    def __eq__(self, other):
        return isinstance(other, CpuDevice)

    def __repr__(self):
        return f"<{type(self).__name__} (numpy)>"

    def send_array(self, array: Any) -> numpy.ndarray:
        """A NumPy array of an array or scalar. Raises TypeError for other objects."""
        return _array_to_cpu(array)

    def is_array_supported(self, array: Any) -> bool:
        """Whether an array is NumPy's."""
        return isinstance(array, numpy.ndarray)


def _to_cpu(array):
    return _backend._convert_arrays(array, _array_to_cpu)


def _array_to_cpu(array, stream=None):
    if array is None or isinstance(array, numpy.ndarray):
        return array
    if hasattr(array, "__cuda_array_interface__") and hasattr(array, "get"):  # CuPy, also where it is not imported yet
        if notes.listener is not None:
            notes.note_move(array, "cpu")
        with array.device:
            return array.get(stream)
    if numpy.isscalar(array):
        return numpy.asarray(array)
    raise TypeError(f"cannot be converted to a numpy.ndarray: {type(array)}")
