"""Converters: from a batch, a list of examples, to arrays on a device."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.chainer import backend
from compatgrad.chainer.backend import get_array_types, using_device
from compatgrad.chainer.backends import cuda

if TYPE_CHECKING:
    from compatgrad.chainer.backend import Device
    from compatgrad.chainer.types import DeviceSpec, NdArray


class Converter:
    """Base class of converters: callables that turn a batch, a list of examples, into the arrays on a device that a
    model takes.

    Example:
        >>> class Labels(chainer.dataset.Converter):
        ...     def __call__(self, batch, device):
        ...         return device.send(np.array([label for _, label in batch]))
        >>> Labels()([("a", 1), ("b", 2)], chainer.get_device("@numpy"))
        array([1, 2])

    Source: `chainer.dataset.Converter` of Chainer 7.8.1.
    """

    def __call__(self, batch: list[Any], device: Device | None) -> Any:
        raise NotImplementedError("Concrete class must implement __call__.")


class _ArbitraryCallableConverter(Converter):
    """Wraps a callable of any signature: its argument `device`, the second one or a keyword, becomes a `Device`."""

    def __init__(self, base_callable):
        if not callable(base_callable):
            raise TypeError(f"Can only wrap a callable. Actual: {type(base_callable)}")
        functools.update_wrapper(self, base_callable, ("__doc__",), ())  # with the callable's signature
        self.base_callable = base_callable

    def __call__(self, *args, **kwargs):
        if len(args) >= 2:
            args = (args[0], _get_device(args[1]), *args[2:])
        elif "device" in kwargs:
            kwargs["device"] = _get_device(kwargs["device"])
        return self.base_callable(*args, **kwargs)


def converter() -> Callable[[Callable[..., Any]], Converter]:
    """Makes a decorator that turns a function of a batch and a `Device`, or None, into a `Converter`. Callers of the
    converter may also give the number of a GPU, or a negative one for the CPU, as old programs do. The converter cannot
    be pickled where the function cannot.

    Returns:
        The decorator. The decorator raises TypeError for an object that is not callable.

    Example:
        >>> @chainer.dataset.converter()
        ... def labels(batch, device):
        ...     return device.send(np.array([label for _, label in batch]))
        >>> labels([("a", 1), ("b", 2)], -1)
        array([1, 2])

    Source: `chainer.dataset.converter` of Chainer 7.8.1.
    """
    return _ArbitraryCallableConverter


def _call_converter(converter, batch, device):
    """Call a new-style converter with a `Device`, any other callable with a number (-1: CPU) or None."""
    assert device is None or isinstance(device, backend.Device), (
        f"device: expected a chainer.backend.Device, not {device!r}"
    )
    if isinstance(converter, Converter):
        return converter(batch, device)
    if device is None:
        return converter(batch, None)
    if device.xp is np:
        return converter(batch, -1)
    if isinstance(device, backend.GpuDevice):
        return converter(batch, device.device.id)
    raise RuntimeError(f"Converter does not support the device {device}. Use chainer.dataset.converter decorator.")


def to_device(device: DeviceSpec | None, x: Any) -> Any:
    """Sends arrays to a device.

    Args:
        device: a `Device`, a specifier such as "@cupy:0", the number of a GPU, or a negative number for the CPU; None
            leaves the arrays where they are.
        x: an array, or a list or tuple of arrays; None stays None.

    Returns:
        The same with arrays on the device; arrays on that device are not copied.

    Raises:
        RuntimeError: there is no such device, or no CUDA.
        TypeError: `x` is no array.

    Example:
        >>> chainer.dataset.to_device("@numpy", [np.array([1, 2]), None])
        [array([1, 2]), None]

    Source: `chainer.dataset.to_device` of Chainer 7.8.1.
    """
    device = _get_device(device)
    return x if device is None else device.send(x)


def _get_device(device_spec):
    return None if device_spec is None else backend.get_device(device_spec)


def _for_each_element(batch, padding, convert):
    """Apply ``convert(values, padding)`` to the values that the examples (tuples, dicts or single values) have at one
    place, for each place.

    Returns a tuple, a dict or one result.
    """
    if not batch:
        raise ValueError("batch is empty")
    first = batch[0]
    if isinstance(first, tuple):
        if not isinstance(padding, tuple):
            padding = (padding,) * len(first)
        return tuple([convert([example[i] for example in batch], padding[i]) for i in range(len(first))])
    if isinstance(first, dict):
        if not isinstance(padding, dict):
            padding = dict.fromkeys(first, padding)
        return {key: convert([example[key] for example in batch], padding[key]) for key in first}
    return convert(batch, padding)


def concat_examples_func(batch: list[Any], device: Device | None = None, padding: Any = None) -> Any:
    """Stacks a list of examples along a new first axis: the standard converter.

    Args:
        batch: the examples: arrays or numbers, or tuples or dicts of them.
        device: device to which the arrays are sent; `concat_examples` also takes specifiers and numbers of GPUs. None
            leaves them where they are.
        padding: value that fills up arrays of different shapes to one shape, or a tuple or dict of such values; None
            takes only arrays of one shape.

    Returns:
        An array, or a tuple or dict of arrays as the first example is one.

    Raises:
        ValueError: the batch is empty, arrays differ in shape without `padding`, or in their number of axes with it.

    Example:
        >>> chainer.dataset.concat_examples([(np.array([1, 2]), 0), (np.array([3]), 1)], padding=-1)
        (array([[ 1,  2],
               [ 3, -1]]), array([0, 1]))

    Source: `chainer.dataset.concat_examples` of Chainer 7.8.1.
    """
    assert device is None or isinstance(device, backend.Device), (
        f"device: expected a chainer.backend.Device, not {device!r}"
    )

    def convert(arrays, padding):
        array = _concat_arrays(arrays, padding)
        return array if device is None else device.send(array)

    return _for_each_element(batch, padding, convert)


def _concat_arrays(arrays, padding):
    first = arrays[0]
    if not isinstance(first, np.ndarray) and not isinstance(first, get_array_types()):
        arrays = np.asarray(arrays)
        if padding is None:
            return arrays
    if padding is not None:
        return _concat_arrays_with_padding(arrays, padding)
    if isinstance(first, np.ndarray):
        return np.concatenate([array[None] for array in arrays])
    device = backend.get_device_from_array(first)
    with using_device(device):
        return device.xp.concatenate([array[None] for array in arrays])


def _concat_arrays_with_padding(arrays, padding):
    shapes = [array.shape for array in arrays]
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError(f"arrays of different numbers of axes cannot be padded to one shape: {shapes}")
    device = backend.get_device_from_array(arrays[0])
    with using_device(device):
        shape = (len(arrays), *[max(lengths) for lengths in zip(*shapes, strict=True)])
        result = device.xp.full(shape, padding, dtype=arrays[0].dtype)
        for i, array in enumerate(arrays):
            result[(i, *[slice(length) for length in array.shape])] = array
    return result


concat_examples = _ArbitraryCallableConverter(concat_examples_func)


class ConcatWithAsyncTransfer:
    """`concat_examples` that copies to a GPU while the GPU is computing, through pinned memory. It needs CuPy; on the
    CPU it converts only. All calls must name the same device (ValueError).

    Args:
        stream: CuPy stream of the copies; None makes one.
        compute_stream: CuPy stream of the computation, which then waits for the copies by events; None synchronizes the
            device.

    Example:
        >>> converter = chainer.dataset.ConcatWithAsyncTransfer()
        >>> converter([(np.array([1, 2]), 0), (np.array([3, 4]), 1)])
        (array([[1, 2],
               [3, 4]]), array([0, 1]))

    Source: `chainer.dataset.ConcatWithAsyncTransfer` of Chainer 7.8.1.
    """

    def __init__(self, stream: Any = None, compute_stream: Any = None) -> None:
        self._stream = stream
        self.compute_stream = compute_stream
        self._device = None
        self._conveyor = collections.defaultdict(self._get_conveyor)
        self._sync_get = compute_stream is None
        if compute_stream is not None:
            # An array must not be overwritten while kernels still read it (1), nor read while a copy to it still runs
            # (2).
            self._event1 = cuda.Event()
            self._event2 = cuda.Event()

    def _get_conveyor(self):
        return Conveyor(self._device, self._stream)

    def __call__(self, batch: list[Any], device: int | None = None, padding: Any = None) -> Any:
        """Convert a batch. `device` is a number or None. Raises ValueError if it differs from that of the first
        call."""
        if not self._conveyor:
            self._device = device
            if _is_gpu(device) and self._stream is None:
                with cuda.get_device_from_id(device):
                    self._stream = cuda.Stream(non_blocking=True)
        if device is not self._device:
            raise ValueError("device is different")
        if self.compute_stream is not None:
            self._event1.synchronize()
            self._event1.record(stream=self.compute_stream)
        with cuda.get_device_from_id(device):
            return self._convert(batch, device, padding)

    def _convert(self, batch, device, padding):
        conveyors = []

        def put(arrays, padding):
            conveyor = self._conveyor[len(conveyors)]
            conveyors.append(conveyor)
            conveyor.put(_concat_arrays(arrays, padding))
            return conveyor

        pending = _for_each_element(batch, padding, put)
        if isinstance(pending, tuple):
            result = tuple([conveyor.get(sync=self._sync_get) for conveyor in pending])
        elif isinstance(pending, dict):
            result = {key: conveyor.get(sync=self._sync_get) for key, conveyor in pending.items()}
        else:
            result = pending.get(sync=self._sync_get)
        if self.compute_stream is not None:
            self._event2.record(stream=self._stream)
            self.compute_stream.wait_event(self._event2)
        return result


def _is_gpu(device):
    return device is not None and device >= 0


class Conveyor:
    """Copies arrays to a GPU, one after the other, through two alternating pinned buffers: `put`, then `get`.

    Args:
        device: number of the GPU; None or a negative one leaves arrays on the CPU.
        stream: CuPy stream of the copies; None copies at once.

    Example:
        >>> conveyor = chainer.dataset.convert.Conveyor()
        >>> conveyor.put(np.array([1, 2]))
        >>> conveyor.get()
        array([1, 2])

    Source: `chainer.dataset.convert.Conveyor` of Chainer 7.8.1.
    """

    def __init__(self, device: int | None = None, stream: Any = None) -> None:
        self._device = device
        self._stream = stream
        self._array_set = [[None, None], [None, None]]
        self._ret_array = []

    def put(self, array: NdArray) -> None:
        """Start to copy a NumPy array."""
        if not _is_gpu(self._device) or self._stream is None:
            self._ret_array.append(to_device(self._device, array))
            return
        pinned, sent = self._array_set.pop(0)
        with cuda.get_device_from_id(self._device):
            if pinned is None or pinned.shape != array.shape or pinned.dtype != array.dtype:
                # The memory of the old buffers may still be in use by another stream.
                cuda.cupy.cuda.runtime.deviceSynchronize()
                memory = cuda.cupy.cuda.alloc_pinned_memory(array.nbytes)
                pinned = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
                sent = cuda.cupy.empty(array.shape, array.dtype)
            pinned[...] = array
            sent.set(pinned, self._stream)
        self._array_set.append([pinned, sent])
        self._ret_array.append(sent)

    def get(self, sync: bool = True) -> NdArray:
        """Return the oldest array that was put. Without `sync` its copy may still be running."""
        if sync and _is_gpu(self._device) and self._stream is not None:
            cuda.cupy.cuda.runtime.deviceSynchronize()
        return self._ret_array.pop(0)
