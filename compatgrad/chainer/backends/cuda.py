"""CUDA through CuPy, where both are there; otherwise the same names, so that programs can ask and import.

`available` says whether CuPy can be imported and torch sees a CUDA device. cuDNN is the one that torch runs
on. Mirrors ``chainer.backends.cuda``.
"""

import contextlib
import functools
import os
import warnings

import numpy
import torch

from compatgrad import _C
from compatgrad.chainer import _backend
from compatgrad.chainer.backends import _cpu
from compatgrad.chainer.configuration import config
from compatgrad.core import user_kernels

available = False
_resolution_error = None

try:
    import cupy
    from cupy import cuda, ndarray
    from cupy.cuda import Device, Event, Stream

    if not torch.cuda.is_available():
        raise RuntimeError(
            f"CuPy is installed, but torch {torch.__version__} has no CUDA device: torch.cuda.is_available() is False"
        )
    available = True
except Exception as e:  # CuPy fails with many classes where a driver or a library does not match
    _resolution_error = e

    class ndarray:
        """Nothing is an instance of this."""

    class Device:
        """Placeholder for ``cupy.cuda.Device``."""

        def __init__(self, device=None):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *args):
            pass

    class Event:
        """Placeholder for ``cupy.cuda.Event``."""

    class Stream:
        """Placeholder for ``cupy.cuda.Stream``."""

    cupy = object()  # `xp is cuda.cupy` must be a valid question


#: Classes that count as arrays.
array_types = (numpy.ndarray, ndarray) if available else (numpy.ndarray,)

_cudnn_disabled_by_user = not int(os.environ.get("CHAINER_CUDNN", "1"))
cudnn_enabled = available and not _cudnn_disabled_by_user and torch.backends.cudnn.is_available()
_cudnn_version = torch.backends.cudnn.version() if cudnn_enabled else -1
_integer_types = (int, numpy.integer)

if available:
    memory_pool = user_kernels.TorchMemoryPool(cupy)
    cuda.set_allocator(memory_pool.malloc)
    with contextlib.suppress(ImportError):  # CuPy does not find every library where torch does
        from cupy.cuda import cublas as cublas
    pinned_memory_pool = cupy.get_default_pinned_memory_pool()


def check_cuda_available():
    """Raises RuntimeError, with the reason, unless CUDA can be used."""
    if not available:
        raise RuntimeError(
            "CUDA environment is not correctly set up: Chainer's GPU arrays need a CUDA build of torch, where "
            f"torch.cuda.is_available() is {torch.cuda.is_available()}, and CuPy (pip install cupy-cuda12x or "
            "cupy-cuda13x).\n"
            f"{type(_resolution_error).__name__}: {_resolution_error}"
        )


class DummyDeviceType:
    """What stands for the CPU where a ``cupy.cuda.Device`` is expected."""

    id = -1

    def __int__(self):
        return -1

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def use(self):
        pass

    def synchronize(self):
        pass

    def __eq__(self, other):
        return isinstance(other, DummyDeviceType)

    def __hash__(self):
        return hash(DummyDeviceType)


DummyDevice = DummyDeviceType()


class _DeviceAndStream:
    # What runs inside follows on what torch has queued.
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
    """A CUDA device, ``'@cupy:N'``. `device` is a ``cupy.cuda.Device``. Raises RuntimeError without CUDA."""

    xp = cupy
    supported_array_types = (ndarray,)

    __hash__ = _backend.Device.__hash__

    def __init__(self, device):
        check_cuda_available()
        assert isinstance(device, Device), f"a CuPy device was expected, not {type(device).__name__}"
        self.device = device

    @staticmethod
    def from_device_id(device_id):
        """The device of a non-negative ID. Raises ValueError for another."""
        check_cuda_available()
        if not isinstance(device_id, _integer_types) or device_id < 0:
            raise ValueError(f"Invalid CUDA device ID: {device_id}")
        return GpuDevice(Device(int(device_id)))

    @staticmethod
    def from_array(array):
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

    def create_context(self):
        device = Device(self.device.id)  # a new one: a cupy Device must not be shared by threads
        stream = user_kernels.stream_to_enter(cupy, self.device.id)
        return device if stream is None else _DeviceAndStream(device, stream)

    def send_array(self, array):
        return _array_to_gpu(array, self.device)

    def use(self):
        self.device.use()

    def is_array_supported(self, array):
        return isinstance(array, ndarray) and self.device == array.device


# ----------------------------------------------------------------------------------------------------------
# Devices
# ----------------------------------------------------------------------------------------------------------


def get_device_from_id(device_id):
    """The CUDA device of an ID; `DummyDevice` for None and negative numbers."""
    if device_id is None or device_id < 0:
        return DummyDevice
    check_cuda_available()
    return Device(int(device_id))


def get_device_from_array(*arrays):
    """The CUDA device of the first CuPy array, or `DummyDevice`."""
    for array in arrays:
        if isinstance(array, ndarray) and array.device is not None:
            return array.device
    return DummyDevice


def get_device(*args):
    """The CUDA device that the first device, ID or CuPy array in `args` tells. Deprecated."""
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


def to_gpu(array, device=None, stream=None):
    """CuPy arrays of the array, or of each of a list or tuple; None stays None, what is there already is
    not copied.

    `device` is an ID or a CUDA device, by default the current one. `stream` is deprecated.
    Raises RuntimeError without CUDA, TypeError for what is no array.
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
    with device:
        if stream is None:
            return cupy.array(array)
        with stream:
            return cupy.array(array)


def to_cpu(array, stream=None):
    """NumPy arrays of the array, or of each of a list or tuple; None stays None, NumPy arrays are not copied.

    Raises TypeError for what is no array and no scalar.
    """
    return _backend._convert_arrays(array, lambda x: _cpu._array_to_cpu(x, stream))


def copy(array, out=None, out_device=None, stream=None):
    """A copy of a CuPy array in `out`, or in a new array on `out_device`, by default the array's own
    device.
    """
    check_cuda_available()
    assert stream is None, "stream must be None: torch arranges its copies in its own stream"
    if out is None:
        with _get_cuda_device(array if out_device is None else out_device):
            out = cupy.empty_like(array)
    with get_device_from_array(array):
        cupy.copyto(out, array)
    return out


# ----------------------------------------------------------------------------------------------------------
# Kernels
# ----------------------------------------------------------------------------------------------------------


def memoize(for_each_device=False):
    """A decorator that remembers results per arguments (and device); without CUDA it remembers nothing."""
    if available:
        return cupy.memoize(for_each_device)

    def decorator(f):
        @functools.wraps(f)
        def call(*args, **kwargs):
            return f(*args, **kwargs)

        return call

    return decorator


def clear_memo():
    """Forgets what `memoize` remembers."""
    if available:
        cupy.clear_memo()


@memoize()
def elementwise(in_params, out_params, operation, name, **kwargs):
    """A ``cupy.ElementwiseKernel``, one per set of arguments, on torch's current stream.

    Like those of `reduce` and `raw` it also takes tensors and Variables without a gradient, without copies.
    """
    check_cuda_available()
    kernel = cupy.ElementwiseKernel(in_params, out_params, operation, name, **kwargs)
    return user_kernels.Kernel(cupy, kernel, name)


@memoize()
def reduce(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name, **kwargs):
    """A ``cupy.ReductionKernel``, one per set of arguments."""
    check_cuda_available()
    kernel = cupy.ReductionKernel(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name, **kwargs)
    return user_kernels.Kernel(cupy, kernel, name)


@memoize()
def raw(code, name, *args, **kwargs):
    """A ``cupy.RawKernel``, one per set of arguments."""
    check_cuda_available()
    return user_kernels.Kernel(cupy, cupy.RawKernel(code, name, *args, **kwargs), name)


def fuse(*args, **kwargs):
    """``cupy.fuse``; without CUDA the function itself. A decorator, with or without arguments."""
    if available:
        return cupy.fuse(*args, **kwargs)
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    return lambda f: f


def get_array_module(*args):
    """CuPy where any array or Variable in `args` is on a GPU, otherwise NumPy."""
    if not available:
        return numpy
    return cupy.get_array_module(*[x.array if isinstance(x, _C.Variable) else x for x in args])


# ----------------------------------------------------------------------------------------------------------
# cuDNN
# ----------------------------------------------------------------------------------------------------------

_SHOULD_USE_CUDNN = {"==always": ("always",), ">=auto": ("always", "auto")}
_TENSOR_CORE = {"always": True, "auto": None, "never": False}
_workspace_size = 0


def get_max_workspace_size():
    """What `set_max_workspace_size` was called with; 0 without cuDNN."""
    return _workspace_size


def set_max_workspace_size(size):
    """Remembers `size`: torch manages the workspaces of cuDNN itself."""
    global _workspace_size
    if cudnn_enabled:
        _workspace_size = size


def should_use_cudnn(level, lowest_version=0):
    """Whether ``config.use_cudnn`` reaches `level`, ``'==always'`` or ``'>=auto'``, and cuDNN is recent
    enough.

    Raises ValueError for another level or configuration.
    """
    if _cudnn_version < lowest_version:
        return False
    if level not in _SHOULD_USE_CUDNN:
        raise ValueError(f'invalid cuDNN use level: {level!r} (must be "==always" or ">=auto")')
    if config.use_cudnn not in ("always", "auto", "never"):
        raise ValueError(f'invalid use_cudnn: {config.use_cudnn!r} (must be "always", "auto" or "never")')
    return config.use_cudnn in _SHOULD_USE_CUDNN[level]


def should_use_cudnn_tensor_core(dtype):
    """Whether tensor cores should be used for `dtype`. Raises ValueError for an unknown configuration."""
    if config.use_cudnn_tensor_core not in _TENSOR_CORE:
        raise ValueError(
            f'invalid use_cudnn_tensor_core: {config.use_cudnn_tensor_core!r} (must be "always", "auto" or "never")'
        )
    use = _TENSOR_CORE[config.use_cudnn_tensor_core]
    if use is None:
        use = available and numpy.dtype(dtype) == numpy.float16 and torch.cuda.get_device_capability() >= (7, 0)
    return use


def get_cudnn_dropout_states():
    """Raises NotImplementedError: the states are torch's, and dropout draws from its generators."""
    raise NotImplementedError(
        "chainer.backends.cuda.get_cudnn_dropout_states: the dropout states of cuDNN are torch's own"
    )
