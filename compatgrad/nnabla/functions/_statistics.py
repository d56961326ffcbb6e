"""Statistics of arrays: their shapes, their checks, and what functions of them say alike in their docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compatgrad.nnabla._declare import op
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.functions.create import constant
from compatgrad.nnabla.variable import Variable

# By the statistics of a batch, and by those of an array alone.
BATCH = """
Args:
    x: any shape, computed in float32.
    beta: what is added, of the lengths of `x` along `axes` and 1 elsewhere; None: nothing.
    gamma: what is multiplied by, of that shape; None: nothing.
    mean: the running mean, of that shape; None, with `batch_stat`: there is none.
    variance: the running variance, likewise.
    axes: the axis or axes each of whose elements has statistics of its own.
    decay_rate: how much of the running statistics stays at each pass; the rest comes from the batch, the variance
        unbiased.
    eps: what is added to the variance.
    batch_stat: whether the statistics are those of `x`, and each forward pass moves the running ones, in place.
        Otherwise they are the running ones, which get no gradient.
    output_stat: whether mean and variance of `x` are given, too.
    n_outputs: has no effect: `output_stat` settles it.

Returns:
    Array of the shape of `x`, or a tuple of it, mean and variance.

Raises:
    RuntimeError: `x` does not have an axis, or a running statistic has another shape.
    ValueError: `beta` or `gamma` has another shape, or running statistics are missing without `batch_stat` or
        computed by a function with it.
"""
OWN = """
Args:
    x: any shape, computed in float32.
    beta: what is added; None: nothing.
    gamma: what is multiplied by, of the shape of `beta`; None: nothing.
    batch_axis: the axis or axes of the samples, negative ones counted from the last.
    channel_axis: the axis of the channels, negative ones counted from the last.
    eps: what is added to the variance.
    output_stat: whether mean and variance are given, too.

Returns:
    Array of the shape of `x`, or a tuple of it, mean and variance.

Raises:
    RuntimeError: the shapes do not fit, or `x` does not have an axis.
"""


def as_list(axis: Any) -> list:
    """One axis or several, as a list."""
    return list(axis) if isinstance(axis, Iterable) else [axis]


def refined(name: str, argument: str, axes: Any, ndim: int) -> list[int]:
    """One axis or several, counted from the front. RuntimeError for one that is not in -ndim ... ndim - 1."""
    return [check_axis(name, a, ndim, argument) for a in as_list(axes)]


def kept_shape(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """The shape of statistics that are of each element of `axes`: 1 along the other axes."""
    return tuple(n if a in axes else 1 for a, n in enumerate(x.shape))


def expect_shape(name: str, argument: str, parameter: Any, shape: Sequence[int]) -> None:
    """RuntimeError where `parameter`, if given, has another shape."""
    if parameter is not None and tuple(parameter.shape) != tuple(shape):
        raise RuntimeError(f"{name}: the shape of {argument} must be {tuple(shape)}, not {tuple(parameter.shape)}")


def scaled(y: Any, scale: Any, bias: Any) -> Any:
    """y * scale + bias, either of which may be None."""
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


def statistics_outputs(output_stat: bool) -> int:
    """How many results there are: mean and variance are two of them."""
    return 3 if output_stat else 1


def check_batch(name: str, x: Any, parameters: dict[str, Any], axes: Any, batch_stat: bool, n_outputs: int) -> list:
    """The axes, counted from the front, when all arguments fit together."""
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
    """An array of one number for a function on x: what runs at once does not wait for other functions."""
    if not isinstance(x, NdArray):
        return constant(value, shape)
    array = NdArray(shape)
    array.fill(value)
    return array


def batch_arguments(
    x: Any, axes: Any, beta: Any, gamma: Any, mean: Any, variance: Any, batch_stat: bool, fill: bool = False
) -> tuple:
    """(axes, beta, gamma, mean, variance): running statistics that are missing become variables nobody reads.

    `fill`: beta and gamma that are missing become constants. ValueError for other shapes than the statistics have,
    for missing running statistics that are to be read, and for ones to be written that a function computes.
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
            "have here: give nn.Variable.from_numpy_array(array)."
        )
    if fill and (beta is None or gamma is None):
        beta = _filled(x, 0, shape) if beta is None else beta
        gamma = _filled(x, 1, shape) if gamma is None else gamma
    mean = Variable(shape, need_grad=False) if mean is None else mean
    variance = Variable(shape, need_grad=False) if variance is None else variance
    return axes, beta, gamma, mean, variance


def standardized(x: Any, axes: Sequence[int], eps: float, n_outputs: int) -> tuple:
    """(x - mean) / std by the statistics of each element of `axes`, and, for 3 outputs, mean and variance."""
    y = op.batch_normalization_statistics(x, axes=axes, eps=eps, stats=n_outputs == 3)
    return tuple(y) if n_outputs == 3 else (y,)


def with_statistics(y: Any, statistics: tuple) -> Any:
    """The results of a function: with statistics, if there are any."""
    return (y, *statistics) if statistics else y
