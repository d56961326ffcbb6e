"""Devices, array modules and copies between devices. Mirrors ``chainer.backend``."""

import numpy

from compatgrad.chainer._backend import Device
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.chainer.backends._chainerx import ChainerxDevice, from_chx, to_chx
from compatgrad.chainer.backends._cpu import CpuDevice
from compatgrad.chainer.backends.cuda import GpuDevice, get_array_module
from compatgrad.chainer.backends.intel64 import Intel64Device

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


def get_array_types():
    """The classes of arrays: NumPy's, and CuPy's where CUDA is available."""
    return cuda.array_types


def get_cpu_array_types():
    """The classes of arrays on the CPU."""
    return CpuDevice.supported_array_types


def is_arrays_compatible(arrays):
    """Whether all arrays are of the CPU, or all of the GPU; None is skipped."""
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


def copyto(dst, src):
    """Copies the elements of array `src` to array `dst`, also between devices. Raises TypeError for what is
    no array.
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


def get_device(device_spec):
    """The `Device` that is specified.

    `device_spec` is a `Device`, ``'@numpy'``, ``'@cupy:N'``, a ``cupy.cuda.Device``, or an integer or its
    string: N ≥ 0 is the GPU of that number, a negative one the CPU. Raises ValueError for another string
    that starts with ``'@'``, RuntimeError for what is not available here, TypeError for another type.
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


def using_device(device_spec):
    """A context manager inside which the device that `device_spec` tells is the current one of the thread."""
    return get_device(device_spec).create_context()


def get_device_from_array(*arrays):
    """The `Device` of the first array that is not on the CPU, otherwise the CPU. It does not look into
    Variables.
    """
    if cuda.available:
        for array in arrays:
            device = GpuDevice.from_array(array)
            if device is not None:
                return device
    return _cpu_device
