"""Arrays as tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from compatgrad.core.arrays import device_array, shareable, tensor_of_device_array


def to_tensor(array: Any) -> torch.Tensor:
    """The tensor that shares the memory of an array, or a copy where torch cannot share it."""
    if not isinstance(array, numpy.ndarray):
        return tensor_of_device_array(array, "array")
    return torch.from_numpy(shareable(array))


def to_array(tensor: torch.Tensor, gpu: bool) -> Any:
    """The array of a tensor that arrived, on the current GPU if `gpu` says so."""
    return device_array(tensor.cuda()) if gpu else tensor.numpy()
