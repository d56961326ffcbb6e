"""Shared code of the functions that normalize by statistics: shapes, checks, and sections of docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compatgrad.nnabla._declare import op
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.functions.create import constant
from compatgrad.nnabla.variable import Variable

# Sections for functions with statistics of a batch, and for those with statistics of an array alone.
BATCH = """
Args:
    x: any shape, computed in float32.
    beta: the shift, of the lengths of `x` along `axes` and 1 elsewhere; None for no shift.
    gamma: the scale, of the same shape; None for no scale.
    mean: the running mean, of the same shape; None, which needs `batch_stat`, for none.
    variance: the running variance, as for `mean`.
    axes: the axis or axes of the features: each element along them has its own statistics.
    decay_rate: weight of the old value when a pass updates the running statistics; the rest comes from the batch, with
        the unbiased variance.
    eps: a number that is added to the variance.
    batch_stat: whether the statistics of `x` are used and each forward pass updates the running statistics in place.
        Otherwise the running statistics are used, which get no gradient.
    output_stat: whether mean and variance of `x` are returned, too.
    n_outputs: has no effect: `output_stat` determines it.

Returns:
    Array of the shape of `x`, or a tuple of it, mean and variance.

Raises:
    RuntimeError: `x` does not have an axis, or a running statistic has another shape.
    ValueError: `beta` or `gamma` has another shape, running statistics are missing without `batch_stat`, or with
        `batch_stat` they are results of a function.
"""
OWN = """
Args:
    x: any shape, computed in float32.
    beta: the shift; None for no shift.
    gamma: the scale, of the shape of `beta`; None for no scale.
    batch_axis: the axis or axes of the samples, negative ones counted from the last.
    channel_axis: the axis of the channels, negative ones counted from the last.
    eps: a number that is added to the variance.
    output_stat: whether mean and variance are returned, too.

Returns:
    Array of the shape of `x`, or a tuple of it, mean and variance.

Raises:
    RuntimeError: the shapes do not fit, or `x` does not have an axis.
"""


def as_list(axis: Any) -> list:
    """A list of one axis or of several."""
    return list(axis) if isinstance(axis, Iterable) else [axis]


def refined(name: str, argument: str, axes: Any, ndim: int) -> list[int]:
    """A list of one axis or of several, counted from the front. Raises RuntimeError for an axis that is not in [-ndim,
    ndim)."""
    return [check_axis(name, a, ndim, argument) for a in as_list(axes)]


def kept_shape(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """The shape of statistics with the lengths of `x` along `axes` and 1 along the other axes."""
    return tuple(n if a in axes else 1 for a, n in enumerate(x.shape))


def expect_shape(name: str, argument: str, parameter: Any, shape: Sequence[int]) -> None:
    """Raises RuntimeError if `parameter` is given and has another shape."""
    if parameter is not None and tuple(parameter.shape) != tuple(shape):
        raise RuntimeError(f"{name}: the shape of {argument} must be {tuple(shape)}, not {tuple(parameter.shape)}")


def scaled(y: Any, scale: Any, bias: Any) -> Any:
    """y * scale + bias, either of which may be None."""
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


def statistics_outputs(output_stat: bool) -> int:
    """The number of results: 3 with mean and variance, otherwise 1."""
    return 3 if output_stat else 1


def check_batch(name: str, x: Any, parameters: dict[str, Any], axes: Any, batch_stat: bool, n_outputs: int) -> list:
    """Checks the arguments and returns the axes, counted from the front."""
    axes = refined(name, "axes", axes, x.ndim)
    for argument, parameter in parameters.items():
        expect_shape(name, argument, parameter, kept_shape(x, axes))
    if n_outputs not in (-1, None, 1, 3):
        raise RuntimeError(f"{name}: n_outputs must be 1 or 3, not {n_outputs}")
    if not batch_stat:
        if n_outputs == 3:
            raise RuntimeError(f"{name}: mean and variance are no outputs where batch_stat is False")
        if parameters["mean"] is None or parameters["variance"] is None:
            raise RuntimeError(f"{name}: mean and variance must be given where batch_stat is False")
    return axes


def _filled(x: Any, value: float, shape: Sequence[int]) -> Any:
    """An array filled with a number, as an input next to x: an NdArray where x is one, so that the function runs at
    once, else a Variable."""
    if not isinstance(x, NdArray):
        return constant(value, shape)
    array = NdArray(shape)
    array.fill(value)
    return array


def batch_arguments(
    x: Any, axes: Any, beta: Any, gamma: Any, mean: Any, variance: Any, batch_stat: bool, fill: bool = False
) -> tuple:
    """The tuple (axes, beta, gamma, mean, variance), in which missing running statistics are replaced by unused
    Variables and, with `fill`, missing beta and gamma by constants. Raises ValueError for wrong shapes, for running
    statistics that are missing without `batch_stat`, and for running statistics that a function computes and that would
    be updated.
    """
    if not batch_stat and (mean is None or variance is None):
        raise ValueError("If batch_stat is False, mean and variance must not be None.")
    ndim = len(x.shape)
    axes = [a + ndim * (a < 0) for a in as_list(axes)]
    shape = kept_shape(x, axes)
    for parameter in (beta, gamma):
        if parameter is not None and tuple(parameter.shape) != shape:
            raise ValueError(
                f"beta and gamma must have the shape {shape}, not {tuple(parameter.shape)}. For other "
                "shapes: `tensor_normalization(x, axes, beta=None, gamma=None) * gamma + beta`."
            )
    if batch_stat and any(getattr(v, "parent", None) is not None for v in (mean, variance)):
        raise ValueError(
            "If batch_stat is True, mean and variance must not have a parent function, as those of another framework "
            "have: pass nn.Variable.from_numpy_array(array)."
        )
    if fill and (beta is None or gamma is None):
        beta = _filled(x, 0, shape) if beta is None else beta
        gamma = _filled(x, 1, shape) if gamma is None else gamma
    mean = Variable(shape, need_grad=False) if mean is None else mean
    variance = Variable(shape, need_grad=False) if variance is None else variance
    return axes, beta, gamma, mean, variance


def standardized(x: Any, axes: Sequence[int], eps: float, n_outputs: int) -> tuple:
    """(x - mean) / std with separate statistics for each element along `axes`, and, for 3 outputs, mean and
    variance."""
    y = op.batch_normalization_statistics(x, axes=axes, eps=eps, stats=n_outputs == 3)
    return tuple(y) if n_outputs == 3 else (y,)


def with_statistics(y: Any, statistics: tuple) -> Any:
    """The results of a function: y, or y and the statistics where there are any."""
    return (y, *statistics) if statistics else y
