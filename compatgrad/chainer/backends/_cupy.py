"""CuPy, or placeholders for its names where CuPy or CUDA is missing."""

from __future__ import annotations

from typing import Any

import torch

available = False
_resolution_error = None

try:
    import cupy
    import cupyx as cupyx
    from cupy import cuda as cuda
    from cupy import ndarray
    from cupy.cuda import Device, Event, Stream

    if not torch.cuda.is_available():
        raise RuntimeError(
            f"CuPy is installed, but torch {torch.__version__} has no CUDA device: torch.cuda.is_available() is False"
        )
    available = True
except Exception as e:  # CuPy raises errors of many classes where a driver or a library does not match
    _resolution_error = e

    class ndarray:
        """CuPy's array, or, where CuPy or CUDA is missing, a class of which nothing is an instance.

        Example:
            >>> isinstance(np.zeros(2), chainer.backends.cuda.ndarray)
            False

        Source: `chainer.backends.cuda.ndarray` of Chainer 7.8.1.
        """

    class Device:
        """`cupy.cuda.Device`, or, where CuPy or CUDA is missing, a context manager that does nothing.

        Args:
            device: number of the device; ignored without CUDA.

        Example:
            >>> with chainer.backends.cuda.Device(0):
            ...     pass

        Source: `chainer.backends.cuda.Device` of Chainer 7.8.1.
        """

        def __init__(self, device: Any = None) -> None:
            pass

        def __enter__(self):
            return self

        def __exit__(self, *args):
            pass

    class Event:
        """`cupy.cuda.Event`, or, where CuPy or CUDA is missing, a class without methods.

        Example:
            >>> event = chainer.backends.cuda.Event()

        Source: `chainer.backends.cuda.Event` of Chainer 7.8.1.
        """

    class Stream:
        """`cupy.cuda.Stream`, or, where CuPy or CUDA is missing, a class without methods.

        Example:
            >>> stream = chainer.backends.cuda.Stream()

        Source: `chainer.backends.cuda.Stream` of Chainer 7.8.1.
        """

    cupy = object()  # programs compare `xp is cuda.cupy`, which must not fail


def check_cuda_available() -> None:
    """Raises a RuntimeError with the reason if CUDA cannot be used: it needs a CUDA build of torch that sees a
    device, and CuPy.

    Example:
        >>> if chainer.backends.cuda.available:
        ...     chainer.backends.cuda.check_cuda_available()

    Source: `chainer.backends.cuda.check_cuda_available` of Chainer 7.8.1.
    """
    if not available:
        raise RuntimeError(
            "CUDA environment is not correctly set up: Chainer's GPU arrays need a CUDA build of torch, where "
            f"torch.cuda.is_available() is {torch.cuda.is_available()}, and CuPy (pip install cupy-cuda12x or "
            "cupy-cuda13x).\n"
            f"{type(_resolution_error).__name__}: {_resolution_error}"
        )


class DummyDeviceType:
    """A replacement of `cupy.cuda.Device` for the CPU: a context manager that does nothing, with `id`
    -1. `cuda.DummyDevice` is an instance; all are equal.

    Example:
        >>> device = chainer.backends.cuda.get_device_from_array(np.zeros(2))
        >>> device == chainer.backends.cuda.DummyDevice, device.id
        (True, -1)

    Source: `chainer.backends.cuda.DummyDeviceType` of Chainer 7.8.1.
    """

    id = -1

    def __int__(self):
        return -1

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def use(self) -> None:
        """Does nothing."""
        pass

    def synchronize(self) -> None:
        """Does nothing."""
        pass

    def __eq__(self, other):
        return isinstance(other, DummyDeviceType)

    def __hash__(self):
        return hash(DummyDeviceType)


DummyDevice = DummyDeviceType()
