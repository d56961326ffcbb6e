"""CUDA through CuPy. Where one of them is missing, the names still exist, so that programs can import them and check
`available`.

`available` says whether CuPy can be imported and torch sees a CUDA device. cuDNN is the one that torch uses. Mirrors
``chainer.backends.cuda``.
"""

from __future__ import annotations

import contextlib
import functools  # noqa: F401  programs find it here, as in Chainer
import os
import warnings
from typing import Any

import numpy
import torch

from compatgrad import _C
from compatgrad.chainer import _backend
from compatgrad.chainer.backends import _cpu
from compatgrad.chainer.backends._cuda_kernels import clear_memo, elementwise, fuse, memoize, raw, reduce  # noqa: F401
from compatgrad.chainer.backends._cupy import (  # noqa: F401 (programs find them here)
    Device,
    DummyDevice,
    DummyDeviceType,
    Event,
    Stream,
    _resolution_error,
    available,
    check_cuda_available,
    cupy,
    ndarray,
)
from compatgrad.chainer.configuration import config
from compatgrad.core import notes, user_kernels

if available:
    from compatgrad.chainer.backends._cupy import cuda, cupyx  # noqa: F401

#: Classes that count as arrays.
array_types = (numpy.ndarray, ndarray) if available else (numpy.ndarray,)

_cudnn_disabled_by_user = not int(os.environ.get("CHAINER_CUDNN", "1"))
cudnn_enabled = available and not _cudnn_disabled_by_user and torch.backends.cudnn.is_available()
_cudnn_version = torch.backends.cudnn.version() if cudnn_enabled else -1
_integer_types = (int, numpy.integer)

if available:
    memory_pool = user_kernels.TorchMemoryPool(cupy)
    cuda.set_allocator(memory_pool.malloc)
    with contextlib.suppress(ImportError):  # torch finds some CUDA libraries that CuPy does not
        from cupy.cuda import cublas as cublas
    pinned_memory_pool = cupy.get_default_pinned_memory_pool()


class _DeviceAndStream:
    # CuPy's work inside the block runs after what torch has queued, as both use torch's stream.
    def __init__(self, device, stream):
        self._device = device
        self._stream = stream

    def __enter__(self):
        self._device.__enter__()
        self._stream.__enter__()
        return self._device

    def __exit__(self, *exc):
        self._stream.__exit__(*exc)
        self._device.__exit__(*exc)


class GpuDevice(_backend.Device):
    """A CUDA device, such as the result of `chainer.get_device("@cupy:0")`. Its attribute `device` is the
    `cupy.cuda.Device`.

    Args:
        device: the `cupy.cuda.Device`.

    Raises:
        AssertionError: `device` is another object.
        RuntimeError: CUDA is not available.

    Example:
        device = chainer.get_device("@cupy:0")
        x = device.send(np.zeros(3))  # a CuPy array

    Source: `chainer.backend.GpuDevice` of Chainer 7.8.1.
    """

    xp = cupy
    supported_array_types = (ndarray,)

    __hash__ = _backend.Device.__hash__

    def __init__(self, device: Any) -> None:
        check_cuda_available()
        assert isinstance(device, Device), f"a CuPy device was expected, not {type(device).__name__}"
        self.device = device

    @staticmethod
    def from_device_id(device_id: int) -> GpuDevice:
        """The device of a non-negative ID. Raises ValueError for another."""
        check_cuda_available()
        if not isinstance(device_id, _integer_types) or device_id < 0:
            raise ValueError(f"Invalid CUDA device ID: {device_id}")
        return GpuDevice(Device(int(device_id)))

    @staticmethod
    def from_array(array: Any) -> GpuDevice | None:
        """The device of `array`, None if it is not CuPy's."""
        if isinstance(array, ndarray) and array.device is not None:
            return GpuDevice(array.device)
        return None

    @property
    def name(self):
        return f"@cupy:{self.device.id}"

    def __eq__(self, other):
        return isinstance(other, GpuDevice) and self.device == other.device

    def __repr__(self):
        return f"<{type(self).__name__} (cupy):{self.device.id}>"

    def create_context(self) -> Any:
        """A context manager inside which this is the current device, and CuPy uses torch's stream."""
        device = Device(self.device.id)  # a new object: threads must not share a cupy Device
        stream = user_kernels.stream_to_enter(cupy, self.device.id)
        return device if stream is None else _DeviceAndStream(device, stream)

    def send_array(self, array: Any) -> ndarray:
        """The array on this device; an array on this device is returned unchanged."""
        return _array_to_gpu(array, self.device)

    def use(self) -> None:
        """Makes this the current device of the thread."""
        self.device.use()

    def is_array_supported(self, array: Any) -> bool:
        """Whether an array is on this device."""
        return isinstance(array, ndarray) and self.device == array.device


# ----------------------------------------------------------------------------------------------------------
# Devices
# ----------------------------------------------------------------------------------------------------------


def get_device_from_id(device_id: int | None) -> Any:
    """The CUDA device of a number.

    Args:
        device_id: the number; None or a negative one is the CPU.

    Returns:
        A `cupy.cuda.Device`, or `DummyDevice` for the CPU.

    Raises:
        RuntimeError: CUDA is not available, and the number is not negative.
        TypeError: `device_id` is no number.

    Example:
        >>> chainer.backends.cuda.get_device_from_id(-1).id
        -1

    Source: `chainer.backends.cuda.get_device_from_id` of Chainer 7.8.1.
    """
    if device_id is None or device_id < 0:
        return DummyDevice
    check_cuda_available()
    return Device(int(device_id))


def get_device_from_array(*arrays: Any) -> Any:
    """The CUDA device of the first CuPy array among the arguments.

    Args:
        *arrays: arrays; others are skipped.

    Returns:
        A `cupy.cuda.Device`, or `DummyDevice` if there is none.

    Raises:
        TypeError: an argument has a name.

    Example:
        >>> chainer.backends.cuda.get_device_from_array(np.zeros(2)).id
        -1

    Source: `chainer.backends.cuda.get_device_from_array` of Chainer 7.8.1.
    """
    for array in arrays:
        if isinstance(array, ndarray) and array.device is not None:
            return array.device
    return DummyDevice


def get_device(*args: Any) -> Any:
    """The CUDA device of the first argument that is a device, a number or a CuPy array. Deprecated, with a
    DeprecationWarning: `get_device_from_id` and `get_device_from_array` take its place.

    Args:
        *args: devices, numbers or arrays; others are skipped.

    Returns:
        A `cupy.cuda.Device`, or `DummyDevice` if there is none.

    Raises:
        RuntimeError: CUDA is not available, and an argument is a number.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     chainer.backends.cuda.get_device(np.zeros(2)).id
        -1

    Source: `chainer.backends.cuda.get_device` of Chainer 7.8.1.
    """
    warnings.warn(
        "get_device is deprecated. Please use get_device_from_id or get_device_from_array instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return _get_cuda_device(*args)


def _get_cuda_device(*args):
    for arg in args:
        if isinstance(arg, _integer_types) and not isinstance(arg, bool):
            check_cuda_available()
            return Device(int(arg))
        if isinstance(arg, ndarray) and arg.device is not None:
            return arg.device
        if available and isinstance(arg, Device):
            return arg
    return DummyDevice


def _get_device_or_current(device):
    if device is None:
        return cuda.Device()
    if isinstance(device, Device):
        return device
    if not isinstance(device, _integer_types) or device < 0:
        raise ValueError(f"Invalid CUDA device specifier: {device}")
    return cuda.Device(int(device))


# ----------------------------------------------------------------------------------------------------------
# Transfers
# ----------------------------------------------------------------------------------------------------------


def to_gpu(array: Any, device: Any = None, stream: Any = None) -> Any:
    """Copies arrays to a CUDA device.

    Args:
        array: a NumPy or CuPy array or a NumPy scalar, or a list or tuple of them; None stays None.
        device: the device, a `cupy.cuda.Device` or a number; None is the current one.
        stream: stream of the copies; deprecated, with a DeprecationWarning.

    Returns:
        The CuPy array, or a list or tuple of them; arrays on that device are not copied.

    Raises:
        RuntimeError: CUDA is not available.
        TypeError: `array` is no array.
        ValueError: `device` is negative or no device.

    Example:
        x = chainer.backends.cuda.to_gpu(np.zeros((2, 3)), device=0)

    Source: `chainer.backends.cuda.to_gpu` of Chainer 7.8.1.
    """
    if stream is not None:
        warnings.warn("the stream option of to_gpu is deprecated", DeprecationWarning, stacklevel=2)
    check_cuda_available()
    device = cuda.Device() if device is DummyDevice else _get_device_or_current(device)
    return _backend._convert_arrays(array, lambda x: _array_to_gpu(x, device, stream))


def _array_to_gpu(array, device, stream=None):
    if array is None or isinstance(array, ndarray) and array.device == device:
        return array
    if not isinstance(array, (numpy.ndarray, numpy.number, numpy.bool_, ndarray)):
        raise TypeError(f"The array sent to gpu must be an array or a NumPy scalar: {type(array)}")
    if notes.listener is not None:
        notes.note_move(array, f"cuda:{device.id}")
    with device:
        if stream is None:
            return cupy.array(array)
        with stream:
            return cupy.array(array)


def to_cpu(array: Any, stream: Any = None) -> Any:
    """Copies arrays to the CPU.

    Args:
        array: a NumPy or CuPy array or a scalar, or a list or tuple of them; None stays None.
        stream: the CuPy stream in which the copies run; None is the current one.

    Returns:
        The NumPy array, or a list or tuple of them; NumPy arrays are not copied.

    Raises:
        TypeError: `array` is neither an array nor a scalar.

    Example:
        >>> chainer.backends.cuda.to_cpu([np.array([1, 2]), None, 3.0])
        [array([1, 2]), None, array(3.)]

    Source: `chainer.backends.cuda.to_cpu` of Chainer 7.8.1.
    """
    return _backend._convert_arrays(array, lambda x: _cpu._array_to_cpu(x, stream))


def copy(array: Any, out: Any = None, out_device: Any = None, stream: Any = None) -> Any:
    """Copies a CuPy array, also between devices.

    Args:
        array: the array.
        out: array that takes the copy; None makes one.
        out_device: device of the new array, a `cupy.cuda.Device` or a number; None is that of `array`.
        stream: only None.

    Returns:
        The copy; `out` if it is given.

    Raises:
        AssertionError: `stream` is given.
        RuntimeError: CUDA is not available.

    Example:
        y = chainer.backends.cuda.copy(x, out_device=1)

    Source: `chainer.backends.cuda.copy` of Chainer 7.8.1.
    """
    check_cuda_available()
    assert stream is None, "stream must be None: torch copies in its own stream"
    if out is None:
        with _get_cuda_device(array if out_device is None else out_device):
            out = cupy.empty_like(array)
    with get_device_from_array(array):
        cupy.copyto(out, array)
    return out


def get_array_module(*args: Any) -> Any:
    """The array module of arrays.

    Args:
        *args: arrays, Variables, or others.

    Returns:
        `cupy` if one of them is on a GPU, otherwise `numpy`.

    Raises:
        TypeError: an argument has a name.

    Example:
        >>> chainer.backends.cuda.get_array_module(np.zeros(2), chainer.Variable(np.zeros(2))) is np
        True

    Source: `chainer.backend.get_array_module` of Chainer 7.8.1.
    """
    if not available:
        return numpy
    return cupy.get_array_module(*[x.array if isinstance(x, _C.Variable) else x for x in args])


# ----------------------------------------------------------------------------------------------------------
# cuDNN
# ----------------------------------------------------------------------------------------------------------

_SHOULD_USE_CUDNN = {"==always": ("always",), ">=auto": ("always", "auto")}
_TENSOR_CORE = {"always": True, "auto": None, "never": False}
_workspace_size = 0


def get_max_workspace_size() -> int:
    """The size in bytes that `set_max_workspace_size` stored. It has no effect: torch manages the workspaces of cuDNN
    itself.

    Returns:
        The size; 0 without cuDNN, or before it is set.

    Example:
        >>> chainer.backends.cuda.get_max_workspace_size()
        0

    Source: `chainer.backends.cuda.get_max_workspace_size` of Chainer 7.8.1.
    """
    return _workspace_size


def set_max_workspace_size(size: int) -> None:
    """Stores the size that `get_max_workspace_size` returns. Nothing else changes: torch manages the workspaces of
    cuDNN itself.

    Args:
        size: the size in bytes.

    Raises:
        TypeError: the argument is missing.

    Example:
        >>> chainer.backends.cuda.set_max_workspace_size(8 * 2**20)

    Source: `chainer.backends.cuda.set_max_workspace_size` of Chainer 7.8.1.
    """
    global _workspace_size
    if cudnn_enabled:
        _workspace_size = size


def should_use_cudnn(level: str, lowest_version: int = 0) -> bool:
    """Whether `config.use_cudnn` asks for cuDNN at a level, and cuDNN is available. Results do not depend on it: torch
    chooses its kernels itself.

    Args:
        level: "==always" or ">=auto".
        lowest_version: minimum version of cuDNN, such as 7000.

    Returns:
        True if cuDNN should be used; without CUDA, False if `lowest_version` is given.

    Raises:
        ValueError: `level` or `config.use_cudnn` has an unknown value.

    Example:
        >>> with chainer.using_config("use_cudnn", "never"):
        ...     chainer.should_use_cudnn(">=auto")
        False

    Source: `chainer.should_use_cudnn` of Chainer 7.8.1.
    """
    if _cudnn_version < lowest_version:
        return False
    if level not in _SHOULD_USE_CUDNN:
        raise ValueError(f'invalid cuDNN use level: {level!r} (must be "==always" or ">=auto")')
    if config.use_cudnn not in ("always", "auto", "never"):
        raise ValueError(f'invalid use_cudnn: {config.use_cudnn!r} (must be "always", "auto" or "never")')
    return config.use_cudnn in _SHOULD_USE_CUDNN[level]


def should_use_cudnn_tensor_core(dtype: Any) -> bool:
    """Whether `config.use_cudnn_tensor_core` asks for tensor cores.

    Args:
        dtype: the dtype of the computation, which "auto" depends on: float16 uses tensor cores where the GPU has them.

    Returns:
        True if they should be used.

    Raises:
        ValueError: `config.use_cudnn_tensor_core` is none of "always", "auto" and "never".

    Example:
        >>> with chainer.using_config("use_cudnn_tensor_core", "never"):
        ...     chainer.should_use_cudnn_tensor_core(np.float16)
        False

    Source: `chainer.should_use_cudnn_tensor_core` of Chainer 7.8.1.
    """
    if config.use_cudnn_tensor_core not in _TENSOR_CORE:
        raise ValueError(
            f'invalid use_cudnn_tensor_core: {config.use_cudnn_tensor_core!r} (must be "always", "auto" or "never")'
        )
    use = _TENSOR_CORE[config.use_cudnn_tensor_core]
    if use is None:
        use = available and numpy.dtype(dtype) == numpy.float16 and torch.cuda.get_device_capability() >= (7, 0)
    return use


def get_cudnn_dropout_states() -> Any:
    """Not available: the states of cuDNN's dropout are torch's, and dropout draws from torch's generators.

    Returns:
        Nothing; it always raises NotImplementedError.

    Example:
        >>> chainer.backends.cuda.get_cudnn_dropout_states()
        Traceback (most recent call last):
          ...
        NotImplementedError: chainer.backends.cuda.get_cudnn_dropout_states: the dropout states of cuDNN are torch's own

    Source: `chainer.backends.cuda.get_cudnn_dropout_states` of Chainer 7.8.1.
    """
    raise NotImplementedError(
        "chainer.backends.cuda.get_cudnn_dropout_states: the dropout states of cuDNN are torch's own"
    )
