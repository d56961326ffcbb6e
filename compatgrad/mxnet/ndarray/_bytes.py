"""Conversion between 8-bit numbers and the ranges that they stand for, with the arithmetic of MXNet on CPUs (oneDNN).

All factors are float32, as there; numbers are rounded to the nearest integer, halves to the even one.
"""

from __future__ import annotations

import torch

from .ndarray import NDArray

__all__ = ["STEPS", "TOPS", "Ends", "ends_of", "number_of", "product_range", "reach_of", "saturated", "steps_by_unit"]

TOPS = {torch.int8: 127.0, torch.uint8: 255.0, torch.int32: 2147483647.0}
# The far end of a range lies half a step beyond the largest integer. These are tensors, because for `number / tensor`
# torch multiplies the number by the tensor's reciprocal, which rounds twice.
STEPS = {torch.int8: torch.tensor(127.5), torch.uint8: torch.tensor(255.5), torch.int32: torch.tensor(2147483647.0)}

Ends = tuple[torch.Tensor, torch.Tensor]


def number_of(value: NDArray | float) -> torch.Tensor:
    """A number, or the first one of an array, as float32."""
    if isinstance(value, NDArray):
        return value.tensor.detach().reshape(-1)[0].float().cpu()
    return torch.tensor(float(value), dtype=torch.float32)


def reach_of(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """The larger absolute value of the two ends. As in MXNet, NaN counts for nothing as the upper end, and is the
    result as the lower one.
    """
    return torch.where(low.abs() < high.abs(), high.abs(), low.abs())


def ends_of(low: torch.Tensor, high: torch.Tensor, like: NDArray) -> list[NDArray]:
    """The ends of a range as arrays of one number, which MXNet returns; on the device of `like`."""
    return [NDArray(v.reshape(1).to(like.tensor.device, copy=True)) for v in (low, high)]


def steps_by_unit(dtype: torch.dtype, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """The number of integer steps of `dtype` for each 1 of a range; for the range [0, 0], MXNet's number."""
    reach = reach_of(low, high)
    return torch.where(reach > 0, STEPS[dtype] / reach, STEPS[torch.int32])


def product_range(first: Ends, second: Ends, dtype: torch.dtype, other: torch.dtype = torch.int8) -> Ends:
    """The range for which int32 sums of products stand: products of a number of `other`, of the range `first`, and a
    number of `dtype`, of the range `second`.
    """
    unit = reach_of(*first) / number_of(TOPS[other]) * (reach_of(*second) / number_of(TOPS[dtype]))
    reach = unit * STEPS[torch.int32]
    return -reach, reach


def saturated(numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The nearest integers that the dtype has. NaN becomes what oneDNN makes of it: 0 without a sign, else the largest
    integer.
    """
    info = torch.iinfo(dtype)
    whole = numbers.double().nan_to_num(info.max if info.min else 0, info.max, info.min).round()
    return whole.clamp(info.min, info.max).to(dtype)
