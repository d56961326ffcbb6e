"""The base class of devices."""

from __future__ import annotations

from typing import Any


def _convert_arrays(array, func):
    """Applies `func` to an array, or to each array in a list or tuple; an object that occurs several times is converted
    once.
    """
    if not isinstance(array, (list, tuple)):
        return func(array)
    converted = {}
    result = []
    for x in array:
        if x is not None and id(x) not in converted:
            converted[id(x)] = func(x)
        result.append(None if x is None else converted[id(x)])
    return type(array)(result)


class _DummyContext:
    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        pass


_dummy_context = _DummyContext()


class Device:
    """Base class of devices: places where arrays live, each with the array module that computes on them. Subclasses
    define `xp`, `name`, `supported_array_types`, `__eq__`, `send_array` and `is_array_supported`.

    Example:
        >>> device = chainer.get_device("@numpy")
        >>> device, device.name, device.xp is np
        (<CpuDevice (numpy)>, '@numpy', True)

    Source: `chainer.backend.Device` of Chainer 7.8.1.
    """

    @property
    def xp(self):
        """The array module."""
        raise NotImplementedError(f"{type(self).__name__} does not define xp")

    @property
    def name(self):
        """The specifier that `chainer.get_device` takes."""
        raise NotImplementedError(f"{type(self).__name__} does not define name")

    @property
    def supported_array_types(self):
        """The classes of arrays that functions of `xp` take."""
        raise NotImplementedError(f"{type(self).__name__} does not define supported_array_types")

    def __str__(self):
        return self.name

    def __eq__(self, other):
        raise NotImplementedError(f"{type(self).__name__} does not define __eq__")

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.name)

    def __enter__(self):
        raise RuntimeError("A device is not a context manager; use chainer.using_device.")

    def __exit__(self, exc_type, exc_value, traceback):
        pass  # without __exit__, `with device` fails before __enter__ can name the function to use

    def create_context(self) -> Any:
        """A context manager inside which this is the current device."""
        return _dummy_context

    def send(self, arrays: Any) -> Any:
        """The array, or list or tuple of arrays, on this device; None stays None."""
        return _convert_arrays(arrays, self.send_array)

    def use(self) -> None:
        """Makes this the current device of the thread."""

    def is_array_supported(self, array: Any) -> bool:
        """Whether `array` is on this device."""
        raise NotImplementedError(f"{type(self).__name__} does not define is_array_supported")
