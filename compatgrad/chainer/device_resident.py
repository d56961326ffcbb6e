"""Objects whose arrays live on a device and move with them. Mirrors ``chainer.device_resident``."""

from __future__ import annotations

import abc
import threading
import warnings
from typing import Any, TypeVar

from compatgrad import _C
from compatgrad.chainer import backend, utils
from compatgrad.chainer.backends import _chainerx, cuda, intel64

_Resident = TypeVar("_Resident", bound="DeviceResident")
_DEPRECATED_METHODS = {"to_cpu": "@numpy", "to_gpu": "@cupy:N", "to_intel64": "@intel64"}


class _ThreadState(threading.local):
    # None, or, while a caller wants to know whether a GPU-to-GPU transfer was skipped: False, and True once one was.
    flag_gpu_to_gpu = None


_thread_local = _ThreadState()


class DeviceResident(utils.enable_final(meta_base=abc.ABCMeta)):
    """Base class of links and of other objects that hold arrays of one device and move with them.

    A subclass with arrays or children of its own overrides `device_resident_accept` and hands them to the visitor.

    Example:
        >>> link = L.Linear(2, 1)
        >>> isinstance(link, chainer.DeviceResident), link.device, link.to_device("@numpy") is link
        (True, <CpuDevice (numpy)>, True)

    Source: `chainer.DeviceResident` of Chainer 7.8.1.
    """

    _device = backend.CpuDevice()

    def __init__(self) -> None:
        self._overridden_to_methods = tuple(
            [name for name, original in _ORIGINAL_METHODS if getattr(type(self), name) is not original]
        )

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Shows this object and all that it holds to `visitor`, a `DeviceResidentsVisitor`."""
        visitor.visit_device_resident(self)

    @property
    def device(self):
        """The `chainer.backend.Device`."""
        return self._device

    @property
    def xp(self):
        """The array module of the device."""
        device = self.device
        return None if device is None else device.xp

    @utils.final(action=DeprecationWarning)
    def to_cpu(self: _Resident) -> _Resident:
        """Moves everything to the CPU and returns itself. Deprecated: use ``to_device('@numpy')``."""
        self.device_resident_accept(_ToDeviceVisitor(backend.CpuDevice(), ("to_cpu", {}), self))
        return self

    @utils.final(action=DeprecationWarning)
    def to_gpu(self: _Resident, device: Any = None) -> _Resident:
        """Moves everything that is on no GPU to one, by default the current GPU, and returns itself.

        Deprecated: use ``to_device``. Raises RuntimeError without CUDA.
        """
        cuda.check_cuda_available()
        cuda_device = cuda._get_device_or_current(device)
        visitor = _ToDeviceVisitor(
            backend.GpuDevice(cuda_device),
            ("to_gpu", {"device": cuda_device}),
            self,
            skip_between_cupy_devices=True,
        )
        self.device_resident_accept(visitor)
        return self

    @utils.final(action=DeprecationWarning)
    def to_intel64(self: _Resident) -> _Resident:
        """Raises RuntimeError: there is no iDeep."""
        self.device_resident_accept(_ToDeviceVisitor(intel64.Intel64Device(), ("to_intel64", {}), self))
        return self

    @utils.final
    def to_chx(self) -> None:
        """Raises RuntimeError: there is no ChainerX."""
        _chainerx._check_available()

    @utils.final
    def from_chx(self: _Resident) -> _Resident:
        """Returns itself: no array is ChainerX's."""
        return self

    @utils.final
    def to_device(self: _Resident, device: Any) -> _Resident:
        """Moves everything to `device`, what `chainer.get_device` takes, and returns itself."""
        self.device_resident_accept(_ToDeviceVisitor(backend.get_device(device)))
        return self


_ORIGINAL_METHODS = [(name, getattr(DeviceResident, name)) for name in _DEPRECATED_METHODS]


class DeviceResidentsVisitor:
    """Base class of visitors, which walk through a `DeviceResident` and all that it holds. A subclass defines the three
    methods.

    Example:
        >>> class Count(chainer.device_resident.DeviceResidentsVisitor):
        ...     n = 0
        ...     def visit_device_resident(self, device_resident):
        ...         pass
        ...     def visit_array(self, arr):
        ...         return arr
        ...     def visit_variable(self, param):
        ...         self.n += 1
        >>> visitor = Count()
        >>> chainer.Chain(a=L.Linear(2, 1), b=L.Linear(1, 1)).device_resident_accept(visitor)
        >>> visitor.n
        4

    Source: `chainer.device_resident.DeviceResidentsVisitor` of Chainer 7.8.1.
    """

    def visit_device_resident(self, device_resident: DeviceResident) -> None:
        """Called with every `DeviceResident`."""
        raise NotImplementedError

    def visit_array(self, arr: Any) -> Any:
        """Called with every array; returns the one that takes its place."""
        raise NotImplementedError

    def visit_variable(self, param: Any) -> None:
        """Called with every Variable and Parameter."""
        raise NotImplementedError


class _ToDeviceVisitor(DeviceResidentsVisitor):
    # Classes written before Chainer 6 override to_cpu and to_gpu to move their own arrays, so these methods are called
    # as well: `entry`, the method that the user called, or the one that belongs to the device. They are not called on
    # `start`, the object whose overriding method made this visitor.

    def __init__(self, device, entry=None, start=None, skip_between_cupy_devices=False):
        assert isinstance(device, backend.Device), f"expected a chainer.backend.Device, not {device!r}"
        if entry is not None:
            method = entry[0]
            warnings.warn(
                f"{method} is deprecated. Please use to_device({_DEPRECATED_METHODS[method]!r}) instead.",
                DeprecationWarning,
                stacklevel=3,
            )
        self._device = device
        self._entry = entry
        self._start = start
        self._skip_between_cupy_devices = skip_between_cupy_devices

    def visit_device_resident(self, device_resident):
        device_resident._device = self._device
        overridden = device_resident._overridden_to_methods
        if overridden and device_resident is not self._start:
            name, kwargs = self._entry or self._method_of_device()
            if name in overridden:
                getattr(device_resident, name)(**kwargs)

    def _method_of_device(self):
        if isinstance(self._device, backend.GpuDevice):
            return "to_gpu", {"device": self._device.device.id}
        return "to_cpu", {}

    def visit_array(self, arr):
        assert isinstance(arr, backend.get_array_types())
        return arr if self._stays(backend.get_device_from_array(arr)) else self._device.send(arr)

    def visit_variable(self, param):
        assert isinstance(param, _C.Variable)
        if not self._stays(param.device):
            param.to_device(self._device)

    def _stays(self, device):
        target = self._device
        if not (self._skip_between_cupy_devices and isinstance(device, backend.GpuDevice)):
            return False
        if device != target:
            if _thread_local.flag_gpu_to_gpu is None:
                warnings.warn(
                    f"to_gpu leaves what is on GPU {device.device.id} there; use to_device to move it to "
                    f"GPU {target.device.id}.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            else:
                _thread_local.flag_gpu_to_gpu = True
        return True
