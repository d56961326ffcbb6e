"""NVIDIA's management library: names, memory and utilization of GPUs.

Call `nvmlInit` first. Each function raises NVMLError if the library reports an error or is not installed.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from .._documents import documented

__all__ = [
    "NVMLError",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUtilizationRates",
    "nvmlErrorString",
    "nvmlInit",
    "nvmlShutdown",
]

NVML_SUCCESS = 0
NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_ALREADY_INITIALIZED = 5
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_INSUFFICIENT_SIZE = 7
NVML_ERROR_INSUFFICIENT_POWER = 8
NVML_ERROR_DRIVER_NOT_LOADED = 9
NVML_ERROR_TIMEOUT = 10
NVML_ERROR_IRQ_ISSUE = 11
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_ERROR_FUNCTION_NOT_FOUND = 13
NVML_ERROR_CORRUPTED_INFOROM = 14
NVML_ERROR_GPU_IS_LOST = 15
NVML_ERROR_RESET_REQUIRED = 16
NVML_ERROR_OPERATING_SYSTEM = 17
NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
NVML_ERROR_IN_USE = 19
NVML_ERROR_MEMORY = 20
NVML_ERROR_NO_DATA = 21
NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22
NVML_ERROR_INSUFFICIENT_RESOURCES = 23
NVML_ERROR_UNKNOWN = 999
NVML_DEVICE_NAME_BUFFER_SIZE = 64

# messages for errors that occur before the library is loaded
_WITHOUT = {NVML_ERROR_UNINITIALIZED: "Uninitialized", NVML_ERROR_LIBRARY_NOT_FOUND: "NVML Shared Library Not Found"}

# The sections that the docstrings of several functions have in common.
_SHARED = """
Args:
    handle: a GPU, from `nvmlDeviceGetHandleByIndex`.

Raises:
    NVMLError: the library is not initialized, or reports an error.

Example:
    from nnabla.utils import nvml

    nvml.nvmlInit()
    for i in range(nvml.nvmlDeviceGetCount()):
        gpu = nvml.nvmlDeviceGetHandleByIndex(i)
        print(nvml.nvmlDeviceGetName(gpu), nvml.nvmlDeviceGetMemoryInfo(gpu).free)
        print(nvml.nvmlDeviceGetUtilizationRates(gpu).gpu)
    nvml.nvmlShutdown()
"""
_documented = documented(_SHARED, source="nnabla.utils.nvml", all_have=())

nvml_lib: Any = None
lib_load_lock = threading.Lock()


class NVMLError(Exception):
    """An error reported by the library.

    Args:
        value: one of the constants NVML_ERROR_...

    Example:
        >>> from compatgrad.nnabla.utils import nvml
        >>> str(nvml.NVMLError(nvml.NVML_ERROR_UNINITIALIZED))
        'Uninitialized'

    Source: `nnabla.utils.nvml.NVMLError` of nnabla 1.39.0.
    """

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        try:
            return nvmlErrorString(self.value).decode()
        except NVMLError:
            return _WITHOUT.get(self.value, f"NVML Error code {self.value}")


class c_nvmlUtilization_t(ctypes.Structure):
    """The percentage of the last sampling period in which a GPU ran kernels (`gpu`) and in which its memory was read or
    written (`memory`).

    Example:
        >>> from compatgrad.nnabla.utils import nvml
        >>> nvml.c_nvmlUtilization_t(gpu=50).gpu
        50

    Source: `nnabla.utils.nvml.c_nvmlUtilization_t` of nnabla 1.39.0.
    """

    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class c_nvmlMemory_t(ctypes.Structure):
    """A GPU's memory in bytes: `total`, `free` and `used`.

    Example:
        >>> from compatgrad.nnabla.utils import nvml
        >>> nvml.c_nvmlMemory_t(total=1 << 30).total
        1073741824

    Source: `nnabla.utils.nvml.c_nvmlMemory_t` of nnabla 1.39.0.
    """

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Device(ctypes.Structure):
    pass


c_nvmlDevice_t = ctypes.POINTER(_Device)
c_nvmlDevice_t.__doc__ = """The handle of a GPU.

Args:
    arg: the structure that it points to, which only the library creates.

Example:
    >>> from compatgrad.nnabla.utils import nvml
    >>> bool(nvml.c_nvmlDevice_t())
    False

Source: `nnabla.utils.nvml.c_nvmlDevice_t` of nnabla 1.39.0.
"""


def _function(name: str) -> Any:
    if nvml_lib is None:
        raise NVMLError(NVML_ERROR_UNINITIALIZED)
    try:
        return getattr(nvml_lib, name)
    except AttributeError:
        raise NVMLError(NVML_ERROR_FUNCTION_NOT_FOUND) from None


def _call(name: str, *args: Any) -> None:
    result = _function(name)(*args)
    if result != NVML_SUCCESS:
        raise NVMLError(result)


@_documented
def nvmlErrorString(result: int) -> bytes:
    """Returns the library's description of an error.

    Args:
        result: one of the constants NVML_ERROR_...

    Returns:
        The text.
    """
    f = _function("nvmlErrorString")
    f.restype = ctypes.c_char_p
    return f(result)


@_documented
def nvmlInit(flags: int = 0) -> None:
    """Loads and initializes the library.

    Args:
        flags: the flags of nvmlInitWithFlags.

    Raises:
        NVMLError: the library is not installed, or reports an error.
    """
    global nvml_lib
    with lib_load_lock:
        if nvml_lib is None:
            try:
                nvml_lib = ctypes.CDLL("libnvidia-ml.so.1")
            except OSError:
                raise NVMLError(NVML_ERROR_LIBRARY_NOT_FOUND) from None
    _call("nvmlInitWithFlags", flags)


@_documented
def nvmlShutdown() -> None:
    """Shuts the library down."""
    _call("nvmlShutdown")


@_documented
def nvmlDeviceGetCount() -> int:
    """Counts the GPUs.

    Returns:
        The number of GPUs.
    """
    count = ctypes.c_uint()
    _call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    return count.value


@_documented
def nvmlDeviceGetHandleByIndex(index: int) -> Any:
    """Returns the GPU with an index.

    Args:
        index: the index, from 0.

    Returns:
        The GPU, for the other functions.
    """
    device = c_nvmlDevice_t()
    _call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
    return device


@_documented
def nvmlDeviceGetName(handle: Any) -> bytes:
    """Returns the name of a GPU.

    Returns:
        The name.
    """
    name = ctypes.create_string_buffer(NVML_DEVICE_NAME_BUFFER_SIZE)
    _call("nvmlDeviceGetName", handle, name, ctypes.c_uint(NVML_DEVICE_NAME_BUFFER_SIZE))
    return name.value


@_documented
def nvmlDeviceGetUtilizationRates(handle: Any) -> c_nvmlUtilization_t:
    """Returns the utilization of a GPU.

    Returns:
        A structure with `gpu` and `memory`, in per cent.
    """
    rates = c_nvmlUtilization_t()
    _call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(rates))
    return rates


@_documented
def nvmlDeviceGetMemoryInfo(handle: Any) -> c_nvmlMemory_t:
    """Returns the total, free and used memory of a GPU.

    Returns:
        A structure with `total`, `free` and `used`, in bytes.
    """
    memory = c_nvmlMemory_t()
    _call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    return memory
