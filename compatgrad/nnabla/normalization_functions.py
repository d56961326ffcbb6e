"""The normalization functions, in the module where nnabla has them, with that module's helpers."""

from __future__ import annotations

from typing import Any

from compatgrad.nnabla.functions._statistics import as_list, scaled
from compatgrad.nnabla.functions.normalization import (
    batch_normalization,
    fused_batch_normalization,
    sync_batch_normalization,
    tensor_normalization,
)
from compatgrad.nnabla.functions.sample_normalization import (
    group_normalization,
    instance_normalization,
    layer_normalization,
)
from compatgrad.nnabla.functions.weights import weight_standardization

__all__ = [
    "batch_normalization",
    "fused_batch_normalization",
    "group_normalization",
    "instance_normalization",
    "layer_normalization",
    "sync_batch_normalization",
    "tensor_normalization",
    "weight_standardization",
]


def _check_axis(ndim: int, axis: int) -> None:
    """Raises ValueError if `axis` is not in 0 ... ndim - 1."""
    if not 0 <= axis < ndim:
        raise ValueError(f"axis must be in 0 ... {ndim - 1}, not {axis}.")


def _force_list(axis: Any) -> Any:
    """`axis` as a list; a number becomes a list of one."""
    return axis if hasattr(axis, "__iter__") else [axis]


def _check_batch_axis_and_force_list(ndim: int, batch_axis: Any) -> Any:
    """A list of one axis or of several. Raises ValueError for one that is not in 0 ... ndim - 1."""
    batch_axis = _force_list(batch_axis)
    for axis in batch_axis:
        _check_axis(ndim, axis)
    return batch_axis


def _get_axes_excluding(ndim: int, axes: Any) -> list[int]:
    """All axes but `axes`, which may be negative."""
    excluded = {a + ndim * (a < 0) for a in as_list(axes)}
    return [a for a in range(ndim) if a not in excluded]


def _apply_affine(x: Any, scale: Any = None, bias: Any = None) -> Any:
    """x * scale + bias, either of which may be None."""
    return scaled(x, scale, bias)


def _init_beta_gamma(shape: Any, fix_parameters: bool, param_init: dict, no_bias: bool, no_scale: bool) -> tuple:
    """The parameters "beta" (zeros) and "gamma" (ones) of the current scope, None for one that is not wanted."""
    from compatgrad.nnabla.initializer import ConstantInitializer
    from compatgrad.nnabla.parameter import get_parameter_or_create

    def parameter(name: str, value: float, unwanted: bool) -> Any:
        if unwanted:
            return None
        init = param_init.get(name, ConstantInitializer(value))
        return get_parameter_or_create(name, shape, init, True, not fix_parameters)

    return parameter("beta", 0, no_bias), parameter("gamma", 1, no_scale)
