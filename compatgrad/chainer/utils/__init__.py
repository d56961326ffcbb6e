"""Helpers of functions and links. Mirrors ``chainer.utils``."""

from __future__ import annotations

import collections.abc as collections_abc
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy

from compatgrad import _C
from compatgrad.chainer import backend
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.utils import (
    argument,
    array,
    cache,
    conv,
    conv_nd,
    conv_nd_kernel,
    error,
    imgproc,
    meta,
    precision,
    sparse,
    type_check,
)
from compatgrad.chainer.utils.array import size_of_shape, sum_to
from compatgrad.chainer.utils.conv import get_conv_outsize, get_deconv_outsize
from compatgrad.chainer.utils.error import _format_array_props
from compatgrad.chainer.utils.experimental import experimental
from compatgrad.chainer.utils.meta import enable_final, final
from compatgrad.chainer.utils.nondeterministic import nondeterministic
from compatgrad.chainer.utils.sparse import CooMatrix, get_order, to_coo

if TYPE_CHECKING:
    from compatgrad.chainer.types import DTypeSpec

__all__ = [
    "CooMatrix",
    "_format_array_props",
    "argument",
    "array",
    "cache",
    "collections_abc",
    "conv",
    "conv_nd",
    "conv_nd_kernel",
    "enable_final",
    "error",
    "experimental",
    "final",
    "force_array",
    "force_type",
    "get_conv_outsize",
    "get_deconv_outsize",
    "get_order",
    "imgproc",
    "meta",
    "nondeterministic",
    "precision",
    "size_of_shape",
    "sparse",
    "sum_to",
    "tempdir",
    "to_coo",
    "type_check",
]


def force_array(x: Any, dtype: DTypeSpec | None = None) -> Any:
    """Turns a scalar into an array; an array is returned as it is. Operations on 0-dimensional NumPy arrays return
    NumPy scalars, where functions need arrays.

    Args:
        x: an array or a scalar.
        dtype: dtype of the result; None keeps that of `x`.

    Returns:
        The array; `x` itself where it is an array of that dtype.

    Raises:
        AttributeError: `dtype` is given and `x` is neither an array nor a scalar.

    Example:
        >>> chainer.utils.force_array(np.ones((), np.float32) * 2)
        array(2., dtype=float32)

    Source: `chainer.utils.force_array` of Chainer 7.8.1.
    """
    if numpy.isscalar(x):
        return numpy.array(x, dtype)
    return x if dtype is None else x.astype(dtype, copy=False)


def force_type(dtype: numpy.dtype, value: Any) -> Any:
    """An array or a scalar as another dtype.

    Args:
        dtype: dtype of the result.
        value: an array or a scalar.

    Returns:
        An array, `value` itself where it has the dtype already, or a NumPy scalar for a scalar.

    Raises:
        AttributeError: `dtype` is no `numpy.dtype`, or `value` is neither an array nor a scalar.

    Example:
        >>> chainer.utils.force_type(np.dtype(np.float16), np.array([1, 2]))
        array([1., 2.], dtype=float16)

    Source: `chainer.utils.force_type` of Chainer 7.8.1.
    """
    if numpy.isscalar(value):
        return dtype.type(value)
    return value.astype(dtype, copy=False)


@contextlib.contextmanager
def tempdir(**kwargs: Any) -> Iterator[str]:
    """Context manager of a temporary directory that is removed at the end of the `with` block.

    Args:
        **kwargs: arguments of `tempfile.mkdtemp`: `suffix`, `prefix`, `dir`; and `ignore_errors`: True ignores that the
            directory cannot be removed.

    Yields:
        The path of the directory.

    Raises:
        OSError: the directory cannot be made or removed.
        TypeError: an unknown keyword is given.

    Example:
        >>> import os
        >>> with chainer.utils.tempdir(prefix="compatgrad") as path:
        ...     print(os.path.isdir(path))
        True
        >>> os.path.isdir(path)
        False

    Source: `chainer.utils.tempdir` of Chainer 7.8.1.
    """
    ignore_errors = kwargs.pop("ignore_errors", False)
    path = tempfile.mkdtemp(**kwargs)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=ignore_errors)


def _repr_with_named_data(inst, **kwargs):
    data = " ".join([f"{name}={value}" for name, value in kwargs.items()])
    return f"<{inst.__module__}.{type(inst).__qualname__} {data}>"


def _device_of(x):
    # The number of the GPU or -1, and the name of the device for messages.
    tensor = x.tensor if isinstance(x, _C.Variable) else None
    if tensor is not None:
        return (-1 if tensor.is_cpu else tensor.device.index or 0), tensor.device
    return (x.device.id, f"cuda:{x.device.id}") if isinstance(x, cuda.ndarray) else (-1, "cpu")


def _check_devices(inputs, label):
    """Raises TypeError, which names both devices, if the inputs of a function, Variables or arrays, are on different
    devices."""
    devices = [_device_of(x) for x in inputs if x is not None]
    other = next((d for d in devices if d[0] != devices[0][0]), None)
    if other is not None:
        raise TypeError(
            f"incompatible array types are mixed in the forward input ({label}).\n"
            f"Actual: inputs on {devices[0][1]} and on {other[1]}; chainer.functions.copy and to_device move them."
        )


def _check_arrays_forward_compatible(arrays, label=None):
    if not backend.is_arrays_compatible(arrays):
        where = "" if label is None else f" ({label})"
        raise TypeError(
            f"incompatible array types are mixed in the forward input{where}.\n"
            f"Actual: {', '.join([str(type(x)) for x in arrays])}"
        )


def _raise_from(exc_type, message, orig_exc):
    # The message contains the cause, and the new exception has the traceback of the cause.
    new = exc_type(f"{message}\n\n(caused by)\n{type(orig_exc).__name__}: {orig_exc}\n")
    raise new.with_traceback(orig_exc.__traceback__) from None
