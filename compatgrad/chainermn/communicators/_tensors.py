"""Arrays as tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from compatgrad.core.arrays import device_array, tensor_of_device_array


def to_tensor(array: Any) -> torch.Tensor:
    """The tensor that shares the memory of an array, or a copy where torch cannot share it."""
    if not isinstance(array, numpy.ndarray):
        return tensor_of_device_array(array, "array")
    if any(stride < 0 for stride in array.strides) or not array.dtype.isnative or not array.flags.writeable:
        array = numpy.array(array, array.dtype.newbyteorder("="))
    return torch.from_numpy(array)


def to_array(tensor: torch.Tensor, gpu: bool) -> Any:
    """The array of a tensor that arrived, on the current GPU if `gpu` says so."""
    return device_array(tensor.cuda()) if gpu else tensor.numpy()
