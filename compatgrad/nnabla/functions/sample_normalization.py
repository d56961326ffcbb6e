"""Normalization of each sample by its own statistics or by those of its channels, and normalization by norms."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import TYPE_CHECKING

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions._statistics import (
    OWN,
    as_list,
    expect_shape,
    kept_shape,
    refined,
    scaled,
    standardized,
    statistics_outputs,
    with_statistics,
)

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["group_normalization", "instance_normalization", "layer_normalization", "norm_normalization"]


@function("LayerNormalization", "x, beta?, gamma?", primitive=True)
def _layer_normalization(
    x, beta=None, gamma=None, batch_axis=(0,), eps=1e-05, no_scale=False, no_bias=False, n_outputs=-1
):
    """`layer_normalization` as one function of the graph."""
    axes = refined("layer_normalization", "batch_axis", batch_axis, x.ndim)
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    for argument, parameter in (("beta", beta), ("gamma", gamma)):
        expect_shape("layer_normalization", argument, parameter, shape)
    if n_outputs != 3 and sorted(axes) == list(range(len(axes))) and prod(shape) > 1:
        return op.sample_normalization(x, beta, gamma, lead=len(axes), eps=eps)
    y, *statistics = standardized(x, axes, eps, n_outputs)
    return with_statistics(scaled(y, gamma, beta), tuple(statistics))


@documented(OWN)
def layer_normalization(
    x: Array,
    beta: Array | None,
    gamma: Array | None,
    batch_axis: int | Sequence[int] = 0,
    eps: float = 1e-05,
    output_stat: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + eps) * gamma + beta with the statistics of each sample (Ba et al., 2016).

    Args:
        beta: the shift, of the shape of `x` with 1 along `batch_axis`; None: nothing.

    Returns:
        Array of the shape of `x`, or a tuple of it, mean and variance, which have 1 along the other axes.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0, 3.0], [3.0, 3.0, 9.0]]))
        >>> F.layer_normalization(x, None, None).data.round(3)
        array([[-1.225,  0.   ,  1.225],
               [-0.707, -0.707,  1.414]], dtype=float32)
    """
    return _layer_normalization(
        x,
        beta,
        gamma,
        batch_axis=as_list(batch_axis),
        eps=eps,
        no_scale=gamma is None,
        no_bias=beta is None,
        n_outputs=statistics_outputs(output_stat),
    )


@function("InstanceNormalization", "x, beta?, gamma?")
def _instance_normalization(
    x, beta=None, gamma=None, channel_axis=1, batch_axis=(0,), eps=1e-05, no_scale=False, no_bias=False, n_outputs=-1
):
    """`instance_normalization` as one function of the graph."""
    name = "instance_normalization"
    (channel,) = refined(name, "channel_axis", channel_axis, x.ndim)
    axes = [*refined(name, "batch_axis", batch_axis, x.ndim), channel]
    shape = kept_shape(x, axes)

    def whole(argument, parameter):
        if parameter is None or tuple(parameter.shape) == shape:
            return parameter
        if (
            parameter.ndim != x.ndim
            or any(n not in (1, m) for n, m in zip(parameter.shape, shape, strict=True))
            or parameter.shape[channel] != x.shape[channel]
        ):
            raise RuntimeError(
                f"{name}: the shape of {argument} must be {shape}, or 1 along batch_axis, not {tuple(parameter.shape)}"
            )
        return op.broadcast_to(parameter, shape=shape)

    return op.batch_normalization_statistics(
        x, whole("beta", beta), whole("gamma", gamma), axes=axes, eps=eps, stats=n_outputs == 3
    )


@documented(OWN)
def instance_normalization(
    x: Array,
    beta: Array | None,
    gamma: Array | None,
    channel_axis: int = 1,
    batch_axis: int | Sequence[int] = 0,
    eps: float = 1e-05,
    output_stat: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + eps) * gamma + beta with the statistics of each channel of each sample.

    Ulyanov et al., 2016.

    Args:
        beta: the shift: its length is that of `x` along `channel_axis`, that of `x` or 1 along `batch_axis`, and 1
            elsewhere; None: nothing.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[1.0, 3.0], [4.0, 8.0]]]))
        >>> y, mean, variance = F.instance_normalization(x, None, None, output_stat=True)
        >>> y.data.round(3), mean.shape
        (array([[[-1.,  1.],
                [-1.,  1.]]], dtype=float32), (1, 2, 1))
    """
    return _instance_normalization(
        x,
        beta,
        gamma,
        channel_axis=channel_axis,
        batch_axis=as_list(batch_axis),
        eps=eps,
        no_scale=gamma is None,
        no_bias=beta is None,
        n_outputs=statistics_outputs(output_stat),
    )


@function("GroupNormalization", "x, beta?, gamma?")
def _group_normalization(
    x,
    beta=None,
    gamma=None,
    num_groups=1,
    channel_axis=1,
    batch_axis=(0,),
    eps=1e-05,
    no_scale=False,
    no_bias=False,
    n_outputs=-1,
):
    """`group_normalization` as one function of the graph."""
    name = "group_normalization"
    (channel,) = refined(name, "channel_axis", channel_axis, x.ndim)
    batch = refined(name, "batch_axis", batch_axis, x.ndim)
    channels = x.shape[channel]
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(f"{name}: the channels of x ({channels}) must be a multiple of num_groups ({num_groups})")
    for argument, parameter in (("beta", beta), ("gamma", gamma)):
        expect_shape(name, argument, parameter, kept_shape(x, [channel]))
    if n_outputs != 3 and beta is not None and gamma is not None and (channel, batch) == (1, [0]):
        return op.group_normalization(
            x, op.reshape(gamma, shape=(channels,)), op.reshape(beta, shape=(channels,)), groups=num_groups, eps=eps
        )  # the fast kernel applies
    split = (*x.shape[:channel], num_groups, channels // num_groups, *x.shape[channel + 1 :])
    axes = [*(a + (a > channel) for a in batch), channel]
    y, *statistics = standardized(op.reshape(x, shape=split), axes, eps, n_outputs)
    return with_statistics(scaled(op.reshape(y, shape=x.shape), gamma, beta), tuple(statistics))


@documented(OWN)
def group_normalization(
    x: Array,
    beta: Array | None,
    gamma: Array | None,
    num_groups: int,
    channel_axis: int = 1,
    batch_axis: int | Sequence[int] = 0,
    eps: float = 1e-05,
    output_stat: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + eps) * gamma + beta with the statistics of each group of channels of each sample.

    Wu and He, 2018.

    Args:
        beta: the summand, with the length of `x` along `channel_axis` and 1 elsewhere; None adds nothing.
        num_groups: the number of groups of channels.

    Returns:
        Array of the shape of `x`, or a tuple of it, mean and variance. Mean and variance have one axis more: the axes
        `num_groups` and 1 instead of the channels.

    Raises:
        RuntimeError: the shapes do not fit, `x` does not have an axis, or `num_groups` does not divide the channels.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[1.0], [3.0], [4.0], [8.0]]]))
        >>> F.group_normalization(x, None, None, num_groups=2).data.ravel().round(3)
        array([-1.,  1., -1.,  1.], dtype=float32)
    """
    return _group_normalization(
        x,
        beta,
        gamma,
        num_groups=num_groups,
        channel_axis=channel_axis,
        batch_axis=as_list(batch_axis),
        eps=eps,
        no_scale=gamma is None,
        no_bias=beta is None,
        n_outputs=statistics_outputs(output_stat),
    )


@function("NormNormalization", "x")
def _norm_normalization(x, p=2.0, axes=None, eps=1e-12):
    """`norm_normalization` as one function of the graph."""
    p = 2.0 if p is None else p
    if p < 1:
        raise RuntimeError(f"norm_normalization: p must be at least 1, not {p}")
    axes = refined("norm_normalization", "axes", axes or range(x.ndim), x.ndim)
    powers = op.square(x) if p == 2 else op.abs(x) if p == 1 else op.pow_scalar(op.abs(x), exponent=p)
    total = op.sum(powers, axis=axes, keepdims=True)
    # As the original's CPU function, without eps; but zeros divided by infinity are zeros, and so are their gradients.
    total = op.where(op.equal_scalar(total, value=0.0), total + inf, total)
    return x * op.rsqrt(total) if p == 2 else x / (total if p == 1 else op.pow_scalar(total, exponent=1 / p))


@documented()
def norm_normalization(
    x: Array, p: float | None = None, axes: int | Sequence[int] | None = None, eps: float = 1e-12
) -> Array:
    """Divides an array by its p-norm: x / (sum |x|^p)^(1 / p).

    For an array of zeros, and numbers whose powers underflow, the result is zeros; nnabla returns NaN or infinities.

    Args:
        x: any shape, computed in float32.
        p: at least 1; None for 2.
        axes: the axis or axes of the norm; None for all.
        eps: has no effect, as in nnabla on the CPU.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `p` is less than 1, or `x` does not have an axis.

    Example:
        >>> F.norm_normalization(nn.NdArray.from_numpy_array(np.array([[3.0, 4.0], [0.0, 2.0]])), axes=1).data
        array([[0.6, 0.8],
               [0. , 1. ]], dtype=float32)
    """
    axes = list(range(len(x.shape))) if axes is None else as_list(axes)
    return _norm_normalization(x, 2.0 if p is None else p, axes, eps)
