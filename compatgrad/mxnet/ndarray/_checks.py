"""Checks of dtypes, and of arrays that must have a certain shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .._frontend import fe
from ..base import MXNetError

__all__ = ["check_same_shape", "torch_dtype"]

_TORCH_DTYPES: dict[Any, torch.dtype] = {
    np.float16: torch.float16, np.float32: torch.float32, np.float64: torch.float64, np.int8: torch.int8,
    np.uint8: torch.uint8, np.int32: torch.int32, np.int64: torch.int64, np.bool_: torch.bool, np.int16: torch.int16,
}  # fmt: skip


def torch_dtype(dtype: Any, who: str = "dtype") -> torch.dtype:
    """The torch dtype for any form of dtype in MXNet; None means float32. TypeError for no dtype."""
    if dtype is None:
        return torch.float32
    if isinstance(dtype, torch.dtype):
        return dtype
    if isinstance(dtype, fe.variable_class):  # an array stands for its dtype, as in NumPy before version 2
        dtype = dtype.dtype
    try:
        return _TORCH_DTYPES[dtype if isinstance(dtype, type) and dtype in _TORCH_DTYPES else np.dtype(dtype).type]
    except (KeyError, TypeError):
        raise TypeError(f"{who}: {dtype!r} is no type of an NDArray") from None


def check_same_shape(who: str, name: str, value: Any, like: Any) -> None:
    """TypeError if `value` is no NDArray, MXNetError if it has another shape than `like`."""
    if not isinstance(value, fe.variable_class):
        raise TypeError(f"{who}: {name}: expected an NDArray, got {type(value).__name__}")
    if value.shape != like.shape:
        raise MXNetError(f"{who}: {name}: expected shape {like.shape}, got {value.shape}")
