"""Devices, array modules and copies between devices. Mirrors ``chainer.backend``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer._backend import Device
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.chainer.backends._chainerx import ChainerxDevice, from_chx, to_chx
from compatgrad.chainer.backends._cpu import CpuDevice
from compatgrad.chainer.backends.cuda import GpuDevice, get_array_module
from compatgrad.chainer.backends.intel64 import Intel64Device

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ChainerxDevice",
    "CpuDevice",
    "Device",
    "GpuDevice",
    "Intel64Device",
    "copyto",
    "from_chx",
    "get_array_module",
    "get_device",
    "get_device_from_array",
    "to_chx",
    "using_device",
]

_cpu_device = CpuDevice()


def get_array_types() -> tuple[type, ...]:
    """The classes of arrays: NumPy's, and CuPy's where CUDA is available.

    Returns:
        A tuple of classes.

    Example:
        >>> np.ndarray in chainer.get_array_types()
        True

    Source: `chainer.get_array_types` of Chainer 7.8.1.
    """
    return cuda.array_types


def get_cpu_array_types() -> tuple[type, ...]:
    """The classes of arrays on the CPU.

    Returns:
        A tuple of classes.

    Example:
        >>> chainer.get_cpu_array_types()
        (<class 'numpy.ndarray'>,)

    Source: `chainer.get_cpu_array_types` of Chainer 7.8.1.
    """
    return CpuDevice.supported_array_types


def is_arrays_compatible(arrays: Iterable[Any]) -> bool:
    """Whether arrays lie all on the CPU, or all on the GPU.

    Args:
        arrays: arrays; None among them is skipped.

    Returns:
        bool.

    Raises:
        TypeError: `arrays` is not iterable.

    Example:
        >>> chainer.is_arrays_compatible([np.zeros(2), None, np.zeros(3)])
        True

    Source: `chainer.is_arrays_compatible` of Chainer 7.8.1.
    """
    arrays = [x for x in arrays if x is not None]
    if not arrays:
        return True
    kinds = cuda.ndarray if isinstance(arrays[0], cuda.ndarray) else get_cpu_array_types()
    return all(isinstance(x, kinds) for x in arrays)


def _contains_nan(x):
    if x.dtype.kind not in "fc":
        return False
    device = get_device_from_array(x)
    with device.create_context():
        return device.xp.isnan(x).any()


def copyto(dst: Any, src: Any) -> None:
    """Copies the elements of an array to another one, also between devices.

    Args:
        dst: array that is written to.
        src: array of a shape and dtype that NumPy lets be copied to `dst`.

    Raises:
        TypeError: `dst` or `src` is no array.
        ValueError: the shape of `src` does not fit.

    Example:
        >>> a = np.zeros(2)
        >>> chainer.backend.copyto(a, np.array([1.0, 2.0]))
        >>> a
        array([1., 2.])

    Source: `chainer.backend.copyto` of Chainer 7.8.1.
    """
    if isinstance(dst, numpy.ndarray):
        numpy.copyto(dst, _cpu._array_to_cpu(src))
    elif not isinstance(dst, cuda.ndarray):
        raise TypeError(f"cannot copy to a non-array object of type {type(dst)}")
    elif isinstance(src, cuda.ndarray):
        cuda.cupy.copyto(dst, src)
    elif not isinstance(src, numpy.ndarray):
        raise TypeError(f"cannot copy from a non-array object of type {type(src)}")
    elif src.dtype == dst.dtype and src.shape == dst.shape and (dst.flags.c_contiguous or dst.flags.f_contiguous):
        dst.set(src)
    else:
        cuda.cupy.copyto(dst, cuda.to_gpu(src, device=dst.device))


def _guess_device_from_array_module(xp):
    return GpuDevice(cuda.Device()) if xp is cuda.cupy else _cpu_device


def get_device(device_spec: Any) -> Device:
    """The device that a specifier stands for.

    Args:
        device_spec: a Device, a `cupy.cuda.Device`, '@numpy', '@cupy:N', or an int or its string: the number of a GPU,
            or negative for the CPU.

    Returns:
        Device.

    Raises:
        TypeError: `device_spec` is none of these.
        ValueError: a string starts with '@' and names no device.
        RuntimeError: the device is not available here.

    Example:
        >>> chainer.get_device("@numpy"), chainer.get_device(-1) == chainer.get_device("@numpy")
        (<CpuDevice (numpy)>, True)

    Source: `chainer.get_device` of Chainer 7.8.1.
    """
    if isinstance(device_spec, Device):
        return device_spec
    if isinstance(device_spec, cuda._integer_types):
        return _get_device_from_number(device_spec)
    if cuda.available and isinstance(device_spec, cuda.Device):
        return GpuDevice(device_spec)
    if not isinstance(device_spec, str):
        raise TypeError(
            f"Device specifier must be a backend.Device, cuda.Device, integer or a string. Actual: {type(device_spec)}"
        )
    try:
        return _get_device_from_number(int(device_spec))
    except ValueError:
        pass  # not a number
    if not device_spec.startswith("@"):
        raise RuntimeError(
            f"Tried to parse ChainerX device specifier {device_spec!r}, but ChainerX is not available; "
            "specifiers of other devices start with '@'."
        )
    module, colon, number = device_spec[1:].partition(":")
    if module == "numpy" and not colon:
        return _cpu_device
    if module == "intel64" and not colon:
        return Intel64Device()
    if module == "cupy" and colon:
        return GpuDevice.from_device_id(int(number))
    raise ValueError(f"A device specifier that starts with '@' must be '@numpy' or '@cupy:N'. Actual: {device_spec}")


def _get_device_from_number(number):
    return GpuDevice.from_device_id(number) if number >= 0 else _cpu_device


def using_device(device_spec: Any) -> Any:
    """A context manager inside which a device is the current one of the thread.

    Args:
        device_spec: a Device, a `cupy.cuda.Device`, '@numpy', '@cupy:N', or an int or its string: the number of a GPU,
            or negative for the CPU.

    Returns:
        A context manager.

    Raises:
        TypeError, ValueError, RuntimeError: as from `get_device`.

    Example:
        >>> with chainer.using_device("@numpy"):
        ...     link = L.Linear(2, 1)
        >>> link.device
        <CpuDevice (numpy)>

    Source: `chainer.using_device` of Chainer 7.8.1.
    """
    return get_device(device_spec).create_context()


def get_device_from_array(*arrays: Any) -> Device:
    """The device of the first array that is not on the CPU; the CPU where there is none. It does not look into
    Variables.

    Args:
        *arrays: arrays; anything else counts as on the CPU.

    Returns:
        Device.

    Raises:
        Nothing.

    Example:
        >>> chainer.backend.get_device_from_array(np.zeros(2))
        <CpuDevice (numpy)>

    Source: `chainer.backend.get_device_from_array` of Chainer 7.8.1.
    """
    if cuda.available:
        for array in arrays:
            device = GpuDevice.from_array(array)
            if device is not None:
                return device
    return _cpu_device
