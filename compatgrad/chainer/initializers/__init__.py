"""Initial values of parameters. Mirrors ``chainer.initializers``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import torch

from compatgrad.chainer import backend
from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.initializer import Initializer
from compatgrad.chainer.initializers.constant import Constant, Identity, NaN, One, Zero
from compatgrad.chainer.initializers.normal import GlorotNormal, HeNormal, LeCunNormal, Normal
from compatgrad.chainer.initializers.orthogonal import Orthogonal
from compatgrad.chainer.initializers.sampling import DownsamplingConvFilter, UpsamplingDeconvFilter
from compatgrad.chainer.initializers.uniform import GlorotUniform, HeUniform, LeCunUniform, Uniform
from compatgrad.core.arrays import device_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer._array_typing import Array, DeviceSpec, DType, Shape

__all__ = [
    "Constant",
    "DownsamplingConvFilter",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "LeCunNormal",
    "LeCunUniform",
    "NaN",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "UpsamplingDeconvFilter",
    "Zero",
    "generate_array",
]


def generate_array(
    initializer: Callable[[Array], Any],
    shape: Shape,
    xp: Any,
    dtype: DType | None = None,
    device: DeviceSpec | None = None,
) -> Array:
    """A new array that an initializer has filled.

    Args:
        initializer: fills the array that it is called with; its attribute `dtype`, if any, is the default dtype.
        shape: of the array.
        xp: module of the array, `numpy` or `cupy`.
        dtype: of the array; None takes the initializer's, else `chainer.config.dtype`.
        device: where the array is made; None takes the current device of `xp`.

    Returns:
        The array, of the given shape.

    Raises:
        ValueError: `dtype` is not the initializer's, or `device` is not one of `xp`.

    Example:
        >>> chainer.initializers.generate_array(chainer.initializers.Constant(3), (2, 2), np)
        array([[3., 3.],
               [3., 3.]], dtype=float32)

    Source: `chainer.initializers.generate_array` of Chainer 7.8.1.
    """
    own_dtype = getattr(initializer, "dtype", None)
    if dtype is None:
        dtype = own_dtype
    elif own_dtype is not None and numpy.dtype(dtype) != numpy.dtype(own_dtype):
        raise ValueError(f"dtype mismatch: {dtype} != {own_dtype}")
    if device is None:
        device = backend._guess_device_from_array_module(xp)
    else:
        device = backend.get_device(device)
        if xp != device.xp:
            raise ValueError(f"xp and device arguments are inconsistent: {xp}, {device}.")
    with device.create_context():
        array = xp.empty(shape, dtype=get_dtype(dtype))
        initializer(array)
    return array


def _array_of_tensor(initializer):
    """The array that shares memory with a tensor; any other initializer unchanged."""
    if not isinstance(initializer, torch.Tensor):
        return initializer
    if initializer.requires_grad:
        raise TypeError("initializer: torch tracks this tensor's gradient, and a parameter has its own: detach() it")
    return device_array(initializer) if initializer.is_cuda else initializer.numpy()


def _get_initializer(initializer):
    if initializer is None:
        return LeCunNormal()
    initializer = _array_of_tensor(initializer)
    if isinstance(initializer, backend.get_array_types()) or numpy.isscalar(initializer):
        return Constant(initializer)
    if not callable(initializer):
        raise TypeError(f"invalid type of initializer: {type(initializer)}")
    return initializer


def _check_is_initializer_like(initializer):
    if not (
        initializer is None
        or isinstance(initializer, (Initializer, *backend.get_array_types()))
        or callable(initializer)
        or numpy.isscalar(initializer)
    ):
        raise TypeError(
            f"Initializer is of wrong type: {type(initializer)}. Allowed types are Initializer, ndarray and scalar."
        )
