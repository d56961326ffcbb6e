"""Normalization: by statistics of a batch, of a sample, of channels or of weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.functions.create import constant
from compatgrad.nnabla.variable import Variable

__all__ = [
    "batch_normalization",
    "clip_grad_by_norm",
    "clip_grad_by_value",
    "fused_batch_normalization",
    "group_normalization",
    "instance_normalization",
    "layer_normalization",
    "mean_subtraction",
    "norm_normalization",
    "spectral_norm",
    "sync_batch_normalization",
    "tensor_normalization",
    "vat_noise",
    "weight_normalization",
    "weight_standardization",
]


# ---- checks -------------------------------------------------------------------------------------------------
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
    return 3 if output_stat else 1


# ---- batch normalization ------------------------------------------------------------------------------------
def _check_batch(name: str, x: Any, parameters: dict[str, Any], axes: Any, batch_stat: bool, n_outputs: int) -> list:
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


@function("BatchNormalization", "x, beta?, gamma?, mean?, variance?", primitive=True, effects=True)
def _batch_normalization(
    x,
    beta=None,
    gamma=None,
    mean=None,
    variance=None,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    no_scale=False,
    no_bias=False,
    n_outputs=-1,
):
    """`batch_normalization` as one function of the graph."""
    axes = _check_batch(
        "batch_normalization",
        x,
        dict(beta=beta, gamma=gamma, mean=mean, variance=variance),
        axes,
        batch_stat,
        n_outputs,
    )
    return op.batch_normalization_statistics(
        x,
        beta,
        gamma,
        mean,
        variance,
        axes=axes,
        decay=decay_rate,
        eps=eps,
        batch_stat=batch_stat,
        stats=n_outputs == 3,
    )


@function("FusedBatchNormalization", "x, beta, gamma, mean, variance, z?", primitive=True, effects=True)
def _fused_batch_normalization(
    x,
    beta,
    gamma,
    mean,
    variance,
    z=None,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    nonlinearity="relu",
    n_outputs=-1,
):
    """`fused_batch_normalization` as one function of the graph."""
    if nonlinearity != "relu":
        raise RuntimeError(f"fused_batch_normalization: nonlinearity must be 'relu', not {nonlinearity!r}")
    axes = _check_batch(
        "fused_batch_normalization",
        x,
        dict(beta=beta, gamma=gamma, mean=mean, variance=variance),
        axes,
        batch_stat,
        n_outputs,
    )
    expect_shape("fused_batch_normalization", "z", z, x.shape)
    return op.batch_normalization_statistics(
        x,
        beta,
        gamma,
        mean,
        variance,
        z,
        axes=axes,
        decay=decay_rate,
        eps=eps,
        batch_stat=batch_stat,
        stats=n_outputs == 3,
        rectify=True,
    )


@function("SyncBatchNormalization", "x, beta, gamma, mean, variance", primitive=True, effects=True)
def _sync_batch_normalization(
    x,
    beta,
    gamma,
    mean,
    variance,
    comm,
    group="world",
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    n_outputs=-1,
):
    """`sync_batch_normalization` as one function of the graph."""
    if getattr(comm, "size", 1) > 1:
        raise RuntimeError(f"sync_batch_normalization: comm has {comm.size} processes; only one is supported")
    axes = _check_batch(
        "sync_batch_normalization",
        x,
        dict(beta=beta, gamma=gamma, mean=mean, variance=variance),
        axes,
        batch_stat,
        n_outputs,
    )
    return op.batch_normalization_statistics(
        x,
        beta,
        gamma,
        mean,
        variance,
        axes=axes,
        decay=decay_rate,
        eps=eps,
        batch_stat=batch_stat,
        stats=n_outputs == 3,
    )


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
        raise ValueError("If batch_stat is True, mean and variance must not have a parent function.")
    if fill and (beta is None or gamma is None):
        beta = constant(0, shape) if beta is None else beta
        gamma = constant(1, shape) if gamma is None else gamma
    mean = Variable(shape, need_grad=False) if mean is None else mean
    variance = Variable(shape, need_grad=False) if variance is None else variance
    return axes, beta, gamma, mean, variance


def batch_normalization(
    x,
    beta,
    gamma,
    mean,
    variance,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    output_stat=False,
    n_outputs=None,
):
    """(x - mean) / sqrt(variance + eps) * gamma + beta, the statistics being of each element of `axes`.

    x: any shape; beta, gamma (None: left out), mean and variance (the running statistics): x's lengths along `axes`, 1
    elsewhere. batch_stat: by the statistics of x, and each forward moves the running ones, in place, to decay_rate *
    running + (1 - decay_rate) * those of x (the variance unbiased); else by the running ones, which get no gradient.
    output_stat: also gives mean and variance of x. ValueError for other shapes, for running statistics that are None
    with batch_stat=False or are computed with batch_stat=True. For several axes, too, it is one function and moves the
    running statistics, where nnabla adds transpositions and leaves them.
    """
    axes, beta, gamma, mean, variance = batch_arguments(x, axes, beta, gamma, mean, variance, batch_stat)
    if output_stat and not batch_stat:
        raise AssertionError("batch_normalization: output_stat needs batch_stat=True")
    return _batch_normalization(
        x,
        beta,
        gamma,
        mean,
        variance,
        axes=axes,
        decay_rate=decay_rate,
        eps=eps,
        batch_stat=batch_stat,
        no_scale=gamma is None,
        no_bias=beta is None,
        n_outputs=statistics_outputs(output_stat),
    )


def fused_batch_normalization(
    x,
    beta,
    gamma,
    mean,
    variance,
    z=None,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    nonlinearity="relu",
    output_stat=False,
    n_outputs=None,
):
    """relu(batch_normalization(x, ...) + z) in one function.

    z: x's shape, or None; all else as in `batch_normalization`. RuntimeError for another nonlinearity than 'relu'.
    """
    axes, beta, gamma, mean, variance = batch_arguments(x, axes, beta, gamma, mean, variance, batch_stat, fill=True)
    return _fused_batch_normalization(
        x,
        beta,
        gamma,
        mean,
        variance,
        z,
        axes=axes,
        decay_rate=decay_rate,
        eps=eps,
        batch_stat=batch_stat,
        nonlinearity=nonlinearity,
        n_outputs=statistics_outputs(output_stat),
    )


def sync_batch_normalization(
    x,
    beta,
    gamma,
    mean,
    variance,
    comm,
    group="world",
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    output_stat=False,
    n_outputs=None,
):
    """`batch_normalization` by the statistics of the batches of all processes of `group`.

    comm: a communicator, or None. RuntimeError where it has more than one process.
    """
    axes, beta, gamma, mean, variance = batch_arguments(x, axes, beta, gamma, mean, variance, batch_stat, fill=True)
    return _sync_batch_normalization(
        x,
        beta,
        gamma,
        mean,
        variance,
        comm,
        group=group,
        axes=axes,
        decay_rate=decay_rate,
        eps=eps,
        batch_stat=batch_stat,
        n_outputs=statistics_outputs(output_stat),
    )


# ---- by an array's own statistics ---------------------------------------------------------------------------
def _standardized(x: Any, axes: Sequence[int], eps: float, n_outputs: int) -> tuple:
    """(x - mean) / std by the statistics of each element of `axes`, and, for 3 outputs, mean and variance."""
    y = op.batch_normalization_statistics(x, axes=axes, eps=eps, stats=n_outputs == 3)
    return tuple(y) if n_outputs == 3 else (y,)


def _outputs(y: Any, statistics: tuple) -> Any:
    return (y, *statistics) if statistics else y


@function("TensorNormalization", "x, beta?, gamma?")
def _tensor_normalization(x, beta=None, gamma=None, axes=(1,), eps=1e-05, no_scale=False, no_bias=False, n_outputs=-1):
    """`tensor_normalization` as one function of the graph."""
    axes = refined("tensor_normalization", "axes", axes, x.ndim)
    for argument, parameter in (("beta", beta), ("gamma", gamma)):
        expect_shape("tensor_normalization", argument, parameter, kept_shape(x, axes))
    y, *statistics = _standardized(x, axes, eps, n_outputs)
    return _outputs(scaled(y, gamma, beta), tuple(statistics))


def tensor_normalization(x, axes, beta=None, gamma=None, eps=1e-05, output_stat=False):
    """(x - mean) / sqrt(variance + eps) * gamma + beta by the statistics of x of each element of `axes`.

    beta, gamma: x's lengths along `axes`, 1 elsewhere, or None; ValueError for another shape. output_stat: also gives
    mean and variance.
    """
    return batch_normalization(
        x, beta, gamma, None, None, axes=axes, decay_rate=0.0, eps=eps, batch_stat=True, output_stat=output_stat
    )


@function("LayerNormalization", "x, beta?, gamma?")
def _layer_normalization(
    x, beta=None, gamma=None, batch_axis=(0,), eps=1e-05, no_scale=False, no_bias=False, n_outputs=-1
):
    """`layer_normalization` as one function of the graph."""
    axes = refined("layer_normalization", "batch_axis", batch_axis, x.ndim)
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    for argument, parameter in (("beta", beta), ("gamma", gamma)):
        expect_shape("layer_normalization", argument, parameter, shape)
    size, plain = prod(shape), sorted(axes) == list(range(len(axes)))
    if n_outputs != 3 and beta is not None and gamma is not None and plain and size > 1:  # the fast kernel
        y = op.layer_normalization(
            op.reshape(x, shape=(prod(x.shape[: len(axes)]), size)),
            op.reshape(gamma, shape=(size,)),
            op.reshape(beta, shape=(size,)),
            eps=eps,
        )
        return op.reshape(y, shape=x.shape)
    y, *statistics = _standardized(x, axes, eps, n_outputs)
    return _outputs(scaled(y, gamma, beta), tuple(statistics))


def layer_normalization(x, beta, gamma, batch_axis=0, eps=1e-05, output_stat=False):
    """Each sample less its mean, over its standard deviation, times gamma plus beta.

    batch_axis: the axis or axes of the samples. beta, gamma: x's shape with 1 along these, or None; RuntimeError for
    another. output_stat: also gives mean and variance, of 1 along all other axes.
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


def instance_normalization(x, beta, gamma, channel_axis=1, batch_axis=0, eps=1e-05, output_stat=False):
    """Each channel of each sample less its mean, over its standard deviation, times gamma plus beta.

    beta, gamma: x's length along channel_axis, x's or 1 along batch_axis, 1 elsewhere; or None; RuntimeError for
    another shape. output_stat: also gives mean and variance.
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
        )  # the fast kernel
    split = (*x.shape[:channel], num_groups, channels // num_groups, *x.shape[channel + 1 :])
    axes = [*(a + (a > channel) for a in batch), channel]
    y, *statistics = _standardized(op.reshape(x, shape=split), axes, eps, n_outputs)
    return _outputs(scaled(op.reshape(y, shape=x.shape), gamma, beta), tuple(statistics))


def group_normalization(x, beta, gamma, num_groups, channel_axis=1, batch_axis=0, eps=1e-05, output_stat=False):
    """Each sample's groups of channels less their mean, over their standard deviation, times gamma plus beta.

    num_groups: how many groups the channels are split into; RuntimeError where it does not divide them. beta, gamma:
    x's length along channel_axis, 1 elsewhere, or None. output_stat: also gives mean and variance, which have one axis
    more than x: the channels' is num_groups, 1.
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


# ---- of weights ---------------------------------------------------------------------------------------------
@function("WeightStandardization", "w")
def _weight_standardization(w, channel_axis=0, eps=1e-05, n_outputs=-1):
    """`weight_standardization` as one function of the graph."""
    y, *statistics = _standardized(
        w, refined("weight_standardization", "channel_axis", channel_axis, w.ndim), eps, n_outputs
    )
    return _outputs(y, tuple(statistics))


def weight_standardization(w, channel_axis=0, eps=1e-05, output_stat=False):
    """The weights of each output channel less their mean, over their standard deviation.

    w: any shape, the output channels along channel_axis (0 for convolutions, 1 for affine layers); RuntimeError for an
    axis it does not have. output_stat: also gives mean and variance.
    """
    return _weight_standardization(w, channel_axis=channel_axis, eps=eps, n_outputs=statistics_outputs(output_stat))


@function("WeightNormalization", "w, g")
def weight_normalization(w, g, dim=0, eps=1e-12):
    """g * w / |w|, the norm being of each element of axis `dim`.

    w: any shape; g: (w.shape[dim],). eps is added to the squared norm. RuntimeError where g has another shape, or eps
    is not positive.
    """
    (dim,) = refined("weight_normalization", "dim", dim, w.ndim)
    expect_shape("weight_normalization", "g", g, (w.shape[dim],))
    if not eps > 0:
        raise RuntimeError(f"weight_normalization: eps must be positive, not {eps}")
    axes = [a for a in range(w.ndim) if a != dim]
    squares = op.sum(op.square(w), axis=axes, keepdims=True) if axes else op.square(w)
    return w * op.rsqrt(squares + eps) * op.reshape(g, shape=kept_shape(w, [dim]))


@function("SpectralNorm", "w, u", primitive=True, effects=True)
def _spectral_norm(w, u, dim=0, itr=1, eps=1e-12, test=False, output_u=False, n_outputs=-1):
    """`spectral_norm` as one function of the graph."""
    (dim,) = refined("spectral_norm", "dim", dim, w.ndim)
    expect_shape("spectral_norm", "u", u, (w.shape[dim],))
    if itr < 1:
        raise RuntimeError(f"spectral_norm: itr must be greater than 0, not {itr}")
    return op.spectral_norm(w, u, dim=dim, iterations=itr, eps=eps, test=test, output_u=output_u)


def spectral_norm(w, u, dim=0, itr=1, eps=1e-12, test=False, output_u=False):
    """w over its largest singular value as a matrix whose rows are along axis `dim`.

    u: (w.shape[dim],), from which `itr` power iterations start and which, unless `test`, each forward replaces by their
    result. The singular vectors are constants for the gradient. output_u: also gives u as it was. RuntimeError where u
    has another shape or itr is not positive.
    """
    return _spectral_norm(w, u, dim, itr, eps, test, output_u, n_outputs=2 if output_u else 1)


@function("NormNormalization", "x")
def _norm_normalization(x, p=2.0, axes=None, eps=1e-12):
    """`norm_normalization` as one function of the graph."""
    p = 2.0 if p is None else p
    if p < 1:
        raise RuntimeError(f"norm_normalization: p must be at least 1, not {p}")
    axes = refined("norm_normalization", "axes", axes or range(x.ndim), x.ndim)
    powers = op.square(x) if p == 2 else op.abs(x) if p == 1 else op.pow_scalar(op.abs(x), exponent=p)
    total = op.sum(powers, axis=axes, keepdims=True) + eps
    return x * op.rsqrt(total) if p == 2 else x / (total if p == 1 else op.pow_scalar(total, exponent=1 / p))


def norm_normalization(x, p=None, axes=None, eps=1e-12):
    """x over its p-norm along `axes` (None: all): x / (sum |x|^p + eps)^(1 / p).

    p: 1 or more, 2 by default; RuntimeError for less. A vector of zeros stays one (nnabla, where eps is not added on
    the CPU, gives NaN).
    """
    axes = list(range(len(x.shape))) if axes is None else as_list(axes)
    return _norm_normalization(x, 2.0 if p is None else p, axes, eps)


# ---- running means, gradients -------------------------------------------------------------------------------
@function("MeanSubtraction", "x, rmean, t?", primitive=True, effects=True)
def _mean_subtraction(x, rmean, t=None, base_axis=1, update_running_mean=True):
    """`mean_subtraction` as one function of the graph."""
    (base_axis,) = refined("mean_subtraction", "base_axis", base_axis, x.ndim)
    expect_shape("mean_subtraction", "the running mean", rmean, x.shape[base_axis:])
    if t is None and update_running_mean:
        raise RuntimeError("mean_subtraction: t must be given where update_running_mean is True")
    if t is not None and t.size != 1:
        raise RuntimeError(f"mean_subtraction: the size of t must be 1, not {t.size}")
    return op.mean_subtraction(x, rmean, t, base_axis=base_axis, update=update_running_mean)


def mean_subtraction(x, mean, t, base_axis=1, update_running_mean=True):
    """x less the running mean of its samples.

    mean: x.shape[base_axis:]; t: one number, how many batches the mean is of. update_running_mean: each forward first
    moves the mean by 1 / (t + 1) towards that of x and adds 1 to t, both in place. The gradient takes the earlier mean
    for a constant (nnabla's leaves out what samples of a batch have to do with one another).
    """
    return _mean_subtraction(x, mean, t, base_axis=base_axis, update_running_mean=update_running_mean)


@function("ClipGradByValue", "x, min, max", primitive=True)
def clip_grad_by_value(x, min, max):
    """x; on the way back the gradient is clipped, element by element, to min ... max.

    min, max: x's shape, or ones that broadcast to it; they get no gradient.
    """
    return op.clip_grad_by_value(x, min, max)


@function("ClipGradByNorm", "x", primitive=True, defaults={"axes": lambda x: list(range(x.ndim))})
def clip_grad_by_norm(x, clip_norm=1.0, axes=None):
    """x; on the way back the gradient g becomes clip_norm * g / |g|, the norm being over `axes` (None: all).

    As in nnabla the gradient is scaled also where its norm is less than clip_norm.
    """
    axes = range(x.ndim) if axes is None else axes
    axes = refined("clip_grad_by_norm", "axes", axes, x.ndim)
    return op.clip_grad_by_norm(x, norm=clip_norm, axes=axes)


@function("VATNoise", "x, w", primitive=True, effects=True)
def vat_noise(x, w, base_axis=1, eps=1.0):
    """eps * x / |x|, the norm being over the axes from base_axis on: noise for virtual adversarial training.

    w: x's shape; the backward pass writes eps times the gradient of the result into its data, and x gets none.
    RuntimeError for another shape.
    """
    (base_axis,) = refined("vat_noise", "base_axis", base_axis, x.ndim)
    expect_shape("vat_noise", "w", w, x.shape)
    return op.vat_noise(x, w, base_axis=base_axis, eps=eps)
