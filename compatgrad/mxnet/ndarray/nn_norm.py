"""Normalization layers."""

from __future__ import annotations

import math
from collections.abc import Callable

from compatgrad import _C

from ..base import MXNetError
from ._arguments import axis_in, choice, public_names, require_ndim, require_shape, required
from ._operator import op, operator
from .ndarray import NDArray

_get_mode = _C.get_mode
_STATES = "moving_mean, moving_var"
_INPUTS = f"data, gamma, beta, {_STATES}"
_OUTPUTS = "output, mean? if output_mean_var, var? if output_mean_var"


# ---- batch normalization ---------------------------------------------------------------------------------------------
def _statistics(data: NDArray, axes: tuple[int, ...], eps: float) -> tuple[NDArray, NDArray]:
    """Mean and variance + eps over axes; no gradient flows through them."""
    data = op.unlink(data)
    return op.mean(data, axis=axes), op.add_scalar(op.var(data, axis=axes), value=eps)


def _check_batch(data: NDArray, axis: int, parameters: dict[str, NDArray]) -> None:
    channels = data.shape[axis_in("BatchNorm", axis, data.ndim)]
    for name, p in parameters.items():
        require_shape("BatchNorm", name, p.shape, (channels,))


def _batch_norm(data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, more, axis):
    """The result of `BatchNorm`; with `more`, a list of it, the mean and the variance, which have no gradient."""
    if fix_gamma:
        if data.stype != "default" or gamma.stype != "default":
            raise MXNetError("BatchNorm: fix_gamma=True is not supported for sparse arrays")
        gamma.tensor.fill_(1)
    trained = _get_mode("training") and not use_global_stats
    if moving_mean.shape != gamma.shape or moving_var.shape != gamma.shape or more or not trained:
        _check_batch(data, axis, {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var})
    if trained:
        y = op.batch_normalization_late(
            data, gamma, beta, eps=eps, momentum=momentum, axis=axis, fix_gamma=fix_gamma,
            moving_mean=moving_mean.tensor, moving_var=moving_var.tensor,
        )  # fmt: skip
        if not more:
            return y
    over = tuple(k for k in range(data.ndim) if k != axis % data.ndim)
    if trained:
        still = op.unlink(data)
        return [y, op.mean(still, axis=over), op.var(still, axis=over)]
    mean, var = moving_mean.tensor, moving_var.tensor
    if more or _get_mode("recording"):  # backward must read these values, and not what later steps write
        mean, var = mean.clone(), var.clone()
    mean, var = NDArray(mean), NDArray(var)
    scale = op.unlink(gamma) if fix_gamma else gamma
    y = op.fixed_batch_normalization(data, scale, beta, mean, var, eps=eps, axis=over)
    return [y, mean, var] if more else y


@operator(_INPUTS, states=_STATES, outputs=_OUTPUTS)
def BatchNorm(
    data, gamma, beta, moving_mean, moving_var, eps=1e-3, momentum=0.9, fix_gamma=True, use_global_stats=False,
    output_mean_var=False, axis=1, cudnn_off=False, min_calib_range=None, max_calib_range=None,
):  # fmt: skip
    """gamma * (data - mean) / sqrt(var + eps) + beta, by the statistics of each channel along `axis`.

    In training mode, mean and var are data's own, unless `use_global_stats` is set; else they are the moving ones. As
    in MXNet, the backward pass updates the moving statistics, with weight 1 - momentum for data's own (with the biased
    variance); the forward pass does not. `fix_gamma`: gamma is overwritten with ones and gets a zero gradient.
    `output_mean_var`: also gives the mean and 1 / sqrt(var + eps), which have no gradient. MXNetError if shapes do
    not fit.

    Args:
        data: floating point, at least two axes.
        axis: the axis of the channels.

    Returns:
        NDArray of the shape of `data`; with `output_mean_var` a list of it and the statistics, shape (channels,).

    Example:
        >>> x, one, zero = nd.array([[1.0], [3.0]]), nd.ones(1), nd.zeros(1)
        >>> with autograd.train_mode():
        ...     y = nd.BatchNorm(x, one, zero, zero.copy(), one.copy())
        >>> y.asnumpy().round(2)
        array([[-1.],
               [ 1.]], dtype=float32)
    """
    y = _batch_norm(data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats,
                    output_mean_var, axis)  # fmt: skip
    if output_mean_var:
        y[2] = op.rsqrt(op.add_scalar(y[2], value=eps))
    return y


@operator(_INPUTS, name="_contrib_BatchNormWithReLU", states=_STATES, outputs=f"{_OUTPUTS}, kept?")
def batch_norm_with_relu(
    data, gamma, beta, moving_mean, moving_var, eps=1e-3, momentum=0.9, fix_gamma=True, use_global_stats=False,
    output_mean_var=False, axis=1, cudnn_off=False, min_calib_range=None, max_calib_range=None,
):  # fmt: skip
    """`BatchNorm`, then relu.

    Args:
        data: floating point, at least two axes.
        axis: the axis of the channels.

    Returns:
        NDArray of the shape of `data`; with `output_mean_var` a list of it and the statistics, shape (channels,).

    Example:
        >>> one, zero = nd.ones(1), nd.zeros(1)
        >>> x = nd.array([[-1.0], [3.0]])
        >>> nd.contrib.BatchNormWithReLU(x, one, zero, zero.copy(), one.copy(), eps=0.0).asnumpy()
        array([[0.],
               [3.]], dtype=float32)
    """
    y = BatchNorm.body(data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats,
                       output_mean_var, axis)  # fmt: skip
    return [op.relu(y[0]), *y[1:]] if output_mean_var else op.relu(y)


@operator(_INPUTS, name="BatchNorm_v1", states=_STATES, outputs=_OUTPUTS)
def batch_norm_v1(
    data, gamma, beta, moving_mean, moving_var, eps=1e-3, momentum=0.9, fix_gamma=True, use_global_stats=False,
    output_mean_var=False,
):  # fmt: skip
    """`BatchNorm` over axis 1; its third result is the variance.

    Args:
        data: floating point, shape (batch, channels, ...).

    Returns:
        NDArray of the shape of `data`; with `output_mean_var` a list of it and the statistics, shape (channels,).

    Example:
        >>> one, zero = nd.ones(1), nd.zeros(1)
        >>> nd.BatchNorm_v1(nd.array([[-1.0], [3.0]]), one, zero, zero.copy(), one.copy(), eps=0.0).asnumpy()
        array([[-1.],
               [ 3.]], dtype=float32)
    """
    return _batch_norm(data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats,
                       output_mean_var, 1)  # fmt: skip


@operator(_INPUTS, name="_contrib_SyncBatchNorm", states=_STATES, outputs=_OUTPUTS)
def sync_batch_norm(
    data, gamma, beta, moving_mean, moving_var, eps=1e-3, momentum=0.9, fix_gamma=True, use_global_stats=False,
    output_mean_var=False, ndev=1, key="",
):  # fmt: skip
    """`BatchNorm` over axis 1, on one device; its third result is the variance.

    Args:
        data: floating point, shape (batch, channels, ...).

    Returns:
        NDArray of the shape of `data`; with `output_mean_var` a list of it and the statistics, shape (channels,).

    Example:
        >>> one, zero = nd.ones(1), nd.zeros(1)
        >>> x = nd.array([[-1.0], [3.0]])
        >>> nd.contrib.SyncBatchNorm(x, one, zero, zero.copy(), one.copy(), eps=0.0, key="k").asnumpy()
        array([[-1.],
               [ 3.]], dtype=float32)
    """
    return _batch_norm(data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats,
                       output_mean_var, 1)  # fmt: skip


# ---- over parts of samples -------------------------------------------------------------------------------------------
@operator("data, gamma, beta", outputs="output, mean? if output_mean_var, std? if output_mean_var")
def LayerNorm(data, gamma, beta, axis=-1, eps=1e-5, output_mean_var=False):
    """gamma * (data - mean) / sqrt(var + eps) + beta, by the statistics along `axis`; gamma and beta have its length.

    `output_mean_var`: also gives the mean and sqrt(var + eps), with length 1 along the axis. MXNetError if shapes do
    not fit.

    Args:
        data: floating point, at least one axis.
        gamma: the factor of the normalized numbers, shape (data.shape[axis],).
        beta: added to the result, of the shape of `gamma`.
        axis: the axis over which is normalized.

    Returns:
        NDArray of the shape of `data`; with `output_mean_var` a list of it and the statistics.

    Example:
        >>> nd.LayerNorm(nd.array([[1.0, 3.0]]), nd.ones(2), nd.zeros(2)).asnumpy().round(3)
        array([[-1.,  1.]], dtype=float32)
    """
    shape, n = data.shape, data.ndim
    k = axis_in("LayerNorm", axis, n)
    require_shape("LayerNorm", "gamma", gamma.shape, (shape[k],))
    require_shape("LayerNorm", "beta", beta.shape, (shape[k],))
    if n == 2 and k == 1:
        y = op.layer_normalization(data, gamma, beta, eps=eps)
    elif k == n - 1:
        rows = op.reshape(data, shape=(math.prod(shape[:-1]), shape[-1]))
        y = op.reshape(op.layer_normalization(rows, gamma, beta, eps=eps), shape=shape)
    else:
        order = [*(a for a in range(n) if a != k), k]
        moved = op.transpose(data, axes=order)
        rows = op.reshape(moved, shape=(math.prod(moved.shape[:-1]), shape[k]))
        y = op.reshape(op.layer_normalization(rows, gamma, beta, eps=eps), shape=moved.shape)
        y = op.transpose(y, axes=[order.index(a) for a in range(n)])
    if not output_mean_var:
        return y
    mean, var = _statistics(data, (k,), eps)
    return [y, op.expand_dims(mean, axis=k), op.expand_dims(op.sqrt(var), axis=k)]


@operator("data, gamma, beta", outputs="output, mean? if output_mean_var, std? if output_mean_var")
def GroupNorm(data, gamma, beta, num_groups=1, eps=1e-5, output_mean_var=False):
    """gamma * (data - mean) / sqrt(var + eps) + beta, by the statistics of each sample's groups of channels.

    data: (batch, channels, ...); gamma, beta: (num_groups,). `output_mean_var`: also the mean and sqrt(var + eps),
    (batch, num_groups). MXNetError if shapes do not fit.

    Args:
        data: floating point, shape (batch, channels, ...).
        gamma: the factor of the normalized numbers, shape (num_groups,).
        beta: added to the result, of the shape of `gamma`.

    Returns:
        NDArray of the shape of `data`; with `output_mean_var` a list of it and the statistics, shape (batch,
        num_groups).

    Example:
        >>> nd.GroupNorm(nd.array([[[1.0, 3.0]]]), nd.ones(1), nd.zeros(1)).asnumpy().round(3)
        array([[[-1.,  1.]]], dtype=float32)
    """
    shape = data.shape
    if len(shape) < 3:
        raise MXNetError(f"GroupNorm: data must have at least 3 axes, got the shape {shape}")
    if num_groups < 1 or shape[1] % num_groups:
        raise MXNetError(f"GroupNorm: num_groups {num_groups} must divide the {shape[1]} channels of data")
    require_shape("GroupNorm", "gamma", gamma.shape, (num_groups,))
    require_shape("GroupNorm", "beta", beta.shape, (num_groups,))
    groups = op.reshape(data, shape=(shape[0], num_groups, math.prod(shape[1:]) // num_groups))
    y = op.reshape(op.group_normalization(groups, gamma, beta, groups=num_groups, eps=eps), shape=shape)
    if not output_mean_var:
        return y
    mean, var = _statistics(groups, (2,), eps)
    return [y, mean, op.sqrt(var)]


@operator("data, gamma, beta", outputs="output, mean?, var?")
def InstanceNorm(data, gamma, beta, eps=1e-3):
    """gamma * (data - mean) / sqrt(var + eps) + beta, by the statistics of each channel of each sample.

    data: (batch, channels, ...) of at least three axes; gamma, beta: (channels,). MXNetError otherwise.

    Args:
        data: floating point, shape (batch, channels, ...).

    Example:
        >>> nd.InstanceNorm(nd.array([[[1.0, 3.0]]]), nd.ones(1), nd.zeros(1)).asnumpy().round(2)
        array([[[-1.,  1.]]], dtype=float32)
    """
    if data.ndim < 3:
        raise MXNetError(f"InstanceNorm: data must have at least 3 axes, got the shape {data.shape}")
    channels = data.shape[1]
    require_shape("InstanceNorm", "gamma", gamma.shape, (channels,))
    require_shape("InstanceNorm", "beta", beta.shape, (channels,))
    return op.group_normalization(data, gamma, beta, groups=channels, eps=eps)


# ---- by lengths ------------------------------------------------------------------------------------------------------
_OVER: dict[str, Callable[[int], tuple[int, ...]]] = {
    "instance": lambda n: tuple(range(1, n)),
    "channel": lambda n: (1,),
    "spatial": lambda n: tuple(range(2, n)),
}


@operator("data", outputs="output, norm?")
def L2Normalization(data, eps=1e-10, mode="instance"):
    """data / sqrt(sum of squares + eps), summed over each sample ("instance"), over axis 1 ("channel") or over the
    axes from 2 on ("spatial"). MXNetError for another mode, and for less than three axes where it needs them.

    Args:
        data: floating point, shape (batch, ...).
        eps: added to the sum of squares.
        mode: "instance": by the norm of a sample, "channel": over axis 1, "spatial": over the axes after it.

    Example:
        >>> nd.L2Normalization(nd.array([[3.0, 4.0]])).asnumpy().round(3)
        array([[0.6, 0.8]], dtype=float32)
    """
    choice("L2Normalization", "mode", mode)
    n = data.ndim
    if n < (2 if mode == "instance" else 3):
        raise MXNetError(f"L2Normalization: data must have at least {2 if mode == 'instance' else 3} axes in mode "
                         f"{mode!r}, got the shape {data.shape}")  # fmt: skip
    total = op.sum(op.square(data), axis=_OVER[mode](n), keepdims=True)
    return op.mul(data, op.rsqrt(op.add_scalar(total, value=eps)))


@operator("data", outputs="output, norm?")
def LRN(data, alpha=1e-4, beta=0.75, knorm=2.0, nsize=None):
    """data / (knorm + alpha / nsize * s) ** beta, s summing the squares of `nsize` channels around each one.

    data: (batch, channels, height, width). MXNetError for other shapes, and without nsize.

    Args:
        data: floating point, shape (batch, channels, height, width).
        alpha: the factor of the mean of squares.
        beta: the exponent.

    Example:
        >>> nd.LRN(nd.ones((1, 1, 1, 1)), nsize=1).asnumpy().round(3)
        array([[[[0.595]]]], dtype=float32)
    """
    require_ndim("LRN", "data", data, 4)
    if required("LRN", "nsize", nsize) < 1:
        raise MXNetError(f"LRN: nsize must be at least 1, got {nsize}")
    return op.local_response_normalization(data, n=nsize, k=knorm, alpha=alpha / nsize, beta=beta)


__all__ = public_names(globals())
