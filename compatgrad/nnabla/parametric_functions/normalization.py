"""Normalizations of activations and of weights."""

from __future__ import annotations

from collections.abc import Iterable

from .. import functions as F
from ..initializer import ConstantInitializer, NormalInitializer, WeightNormalizationScaleInitializer
from ..parameter import get_parameter_or_create
from ._api import parametric_function_api
from ._common import axis_size, weight

__all__ = [
    "batch_normalization",
    "fused_batch_normalization",
    "group_normalization",
    "instance_normalization",
    "layer_normalization",
    "mean_subtraction",
    "spectral_norm",
    "sync_batch_normalization",
    "weight_normalization",
]

_BY_AXES = "inp.shape along axes, 1 along the other axes"
_BY_CHANNEL = "inp.shape along channel_axis, 1 along the other axes"
_BY_SAMPLE = "1 along batch_axis, inp.shape along the other axes"


def _affine(shape):
    return [("beta", "bias", shape, True), ("gamma", "scale", shape, True)]


_BATCH = [
    *_affine(_BY_AXES),
    ("mean", "moving average", _BY_AXES, False),
    ("var", "moving variance", _BY_AXES, False),
]


def _beta_gamma(shape, fix, param_init, no_bias, no_scale):
    init = param_init or {}
    beta = None if no_bias else weight("beta", shape, init.get("beta", ConstantInitializer(0)), fix)
    gamma = None if no_scale else weight("gamma", shape, init.get("gamma", ConstantInitializer(1)), fix)
    return beta, gamma


def _batch_parameters(function, inp, axes, fix, param_init, no_bias, no_scale):
    """beta, gamma, mean and variance, of one element along the axes that are averaged over."""
    shape = [1] * len(getattr(inp, "shape", ()))
    for axis in _axes(axes):
        size = axis_size(function, inp, "axes", axis)
        shape[axis] = size
    init = param_init or {}
    return (
        *_beta_gamma(shape, fix, init, no_bias, no_scale),
        get_parameter_or_create("mean", shape, init.get("mean", ConstantInitializer(0)), False),
        get_parameter_or_create("var", shape, init.get("var", ConstantInitializer(1)), False),
    )


@parametric_function_api("bn", _BATCH)
def batch_normalization(
    inp,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-5,
    batch_stat=True,
    output_stat=False,
    fix_parameters=False,
    param_init=None,
    no_scale=False,
    no_bias=False,
):
    """``(inp - mean) / sqrt(var + eps) * gamma + beta``, one mean etc. for each index of `axes`.

    With `batch_stat` mean and variance are the batch's, and the moving ones follow them at `decay_rate`;
    without, they are the moving ones. `param_init` maps parameter names to initializers or arrays; `no_scale`
    and `no_bias` leave gamma and beta out; `fix_parameters` keeps gradients from them. `output_stat` adds
    mean and variance to the outputs. Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167.
    """
    parameters = _batch_parameters("batch_normalization", inp, axes, fix_parameters, param_init, no_bias, no_scale)
    return F.batch_normalization(inp, *parameters, axes, decay_rate, eps, batch_stat, output_stat)


@parametric_function_api("bn", _BATCH)
def fused_batch_normalization(
    inp,
    z=None,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-5,
    batch_stat=True,
    nonlinearity="relu",
    output_stat=False,
    fix_parameters=False,
    param_init=None,
    no_scale=False,
    no_bias=False,
):
    """`batch_normalization`, plus `z` where it is given, then `nonlinearity`: ``"relu"``, or ``""`` for none.

    Other arguments and the parameters are those of `batch_normalization`.
    """
    parameters = _batch_parameters(
        "fused_batch_normalization", inp, axes, fix_parameters, param_init, no_bias, no_scale
    )
    return F.fused_batch_normalization(
        inp, *parameters, z, axes, decay_rate, eps, batch_stat, nonlinearity, output_stat
    )


@parametric_function_api("bn", _BATCH)
def sync_batch_normalization(
    inp,
    comm,
    group="world",
    axes=(1,),
    decay_rate=0.9,
    eps=1e-5,
    batch_stat=True,
    output_stat=False,
    fix_parameters=False,
    param_init=None,
    no_scale=False,
    no_bias=False,
):
    """`batch_normalization` over the batches of all processes of the communicator's `group`.

    Other arguments and the parameters are those of `batch_normalization`.
    """
    parameters = _batch_parameters("sync_batch_normalization", inp, axes, fix_parameters, param_init, no_bias, no_scale)
    return F.sync_batch_normalization(inp, *parameters, comm, group, axes, decay_rate, eps, batch_stat, output_stat)


@parametric_function_api(
    "mean_subtraction",
    [("mean", "moving average", "inp.shape[base_axis:]", False), ("t", "batches counted", "(1,)", False)],
)
def mean_subtraction(inp, base_axis=1, update_running_mean=True, fix_parameters=False):
    """`inp` less its mean over the axes before `base_axis`, as a moving average that forward updates.

    Raises ValueError where `inp` has fewer axes than `base_axis`.
    """
    if inp.ndim < base_axis:
        raise ValueError(f"mean_subtraction: base_axis {base_axis} is beyond the {inp.ndim} axes of the input")
    mean = get_parameter_or_create("mean", inp.shape[base_axis:], ConstantInitializer(0), False)
    t = get_parameter_or_create("t", (1,), ConstantInitializer(0), False)
    return F.mean_subtraction(inp, mean, t, base_axis=base_axis, update_running_mean=update_running_mean)


def _axes(batch_axis):
    return list(batch_axis) if isinstance(batch_axis, Iterable) else [batch_axis]


def _channel_shape(function, inp, channel_axis):
    size = axis_size(function, inp, "channel_axis", channel_axis)
    shape = [1] * inp.ndim
    shape[channel_axis] = size
    return shape


@parametric_function_api("layer_normalization", _affine(_BY_SAMPLE))
def layer_normalization(
    inp,
    batch_axis=0,
    eps=1e-5,
    output_stat=False,
    fix_parameters=False,
    param_init=None,
    no_scale=False,
    no_bias=False,
):
    """Normalization over all axes but `batch_axis`, an int or several, along which parameters have size 1.

    Other arguments as in `batch_normalization`. Ba et al. 2016, https://arxiv.org/abs/1607.06450.
    """
    batch_axis = _axes(batch_axis)
    shape = list(inp.shape)
    for axis in batch_axis:
        axis_size("layer_normalization", inp, "batch_axis", axis)
        shape[axis] = 1
    beta, gamma = _beta_gamma(shape, fix_parameters, param_init, no_bias, no_scale)
    return F.layer_normalization(inp, beta, gamma, batch_axis=batch_axis, eps=eps, output_stat=output_stat)


@parametric_function_api("instance_normalization", _affine(_BY_CHANNEL))
def instance_normalization(
    inp,
    channel_axis=1,
    batch_axis=0,
    eps=1e-5,
    output_stat=False,
    fix_parameters=False,
    param_init=None,
    no_scale=False,
    no_bias=False,
):
    """Normalization of every sample and channel for itself; the parameters have the size of the channel axis.

    Other arguments as in `batch_normalization`. Ulyanov et al. 2016, https://arxiv.org/abs/1607.08022.
    """
    shape = _channel_shape("instance_normalization", inp, channel_axis)
    beta, gamma = _beta_gamma(shape, fix_parameters, param_init, no_bias, no_scale)
    return F.instance_normalization(
        inp, beta, gamma, channel_axis=channel_axis, batch_axis=batch_axis, eps=eps, output_stat=output_stat
    )


@parametric_function_api("group_normalization", _affine(_BY_CHANNEL))
def group_normalization(
    inp,
    num_groups,
    channel_axis=1,
    batch_axis=0,
    eps=1e-5,
    output_stat=False,
    fix_parameters=False,
    param_init=None,
    no_scale=False,
    no_bias=False,
):
    """Normalization of every sample over `num_groups` groups of channels; one parameter per channel.

    Other arguments as in `batch_normalization`. Wu and He 2018, https://arxiv.org/abs/1803.08494.
    """
    shape = _channel_shape("group_normalization", inp, channel_axis)
    beta, gamma = _beta_gamma(shape, fix_parameters, param_init, no_bias, no_scale)
    return F.group_normalization(
        inp,
        beta,
        gamma,
        num_groups=num_groups,
        channel_axis=channel_axis,
        batch_axis=_axes(batch_axis),
        eps=eps,
        output_stat=output_stat,
    )


@parametric_function_api("spectral-norm", [("u", "singular vector", "(w.shape[dim],)", False)])
def spectral_norm(w, dim=0, itr=1, eps=1e-12, test=False, u_init=None, fix_parameters=True):
    """`w` divided by its largest singular value, as a matrix whose rows are the axis `dim`.

    Forward finds it by `itr` power iterations and keeps the vector in the parameter ``u``, which starts
    normal unless `u_init` says otherwise; with `test` it stays. ValueError for a `dim` that `w` lacks. Miyato
    et al. 2018, https://arxiv.org/abs/1802.05957.
    """
    if not 0 <= dim < w.ndim:
        raise ValueError(f"spectral_norm: dim must be at least 0 and below {w.ndim}, not {dim}")
    init = NormalInitializer() if u_init is None else u_init
    u = get_parameter_or_create("u", (w.shape[dim],), init, False, False)
    return F.spectral_norm(w, u, dim=dim, itr=itr, eps=eps, test=test)


@parametric_function_api("wn", [("g", "lengths", "(w.shape[dim],)", True)])
def weight_normalization(w, dim=0, eps=1e-12, g_init=None, fix_parameters=False):
    """The slices of `w` along `dim`, scaled to the lengths ``g``, which start as the lengths they have.

    `g_init` is an initializer or array for them; `fix_parameters` keeps gradients from them. Salimans and
    Kingma 2016, https://arxiv.org/abs/1602.07868.
    """
    init = WeightNormalizationScaleInitializer(w, dim, eps) if g_init is None else g_init
    return F.weight_normalization(w, weight("g", (w.shape[dim],), init, fix_parameters), dim, eps)


@parametric_function_api("wn", [("g", "lengths", "(v.shape[dim],)", True)])
def _weight_normalization_v1(v, dim=0, eps=1e-12, fix_parameters=False):
    """`weight_normalization` of lengths that start at 1, composed of elementary functions."""
    if not -v.ndim <= dim < v.ndim:
        raise ValueError(f"weight_normalization: dim must be at least {-v.ndim} and below {v.ndim}, not {dim}")
    if eps <= 0:
        raise ValueError(f"weight_normalization: eps must be above 0, not {eps}")
    dim %= v.ndim
    others = [axis for axis in range(v.ndim) if axis != dim]
    g = weight("g", (v.shape[dim],), ConstantInitializer(1.0), fix_parameters)
    g = F.reshape(g, [size if axis == dim else 1 for axis, size in enumerate(v.shape)])
    return g * (v / (F.sum(v**2, axis=others, keepdims=True) + eps) ** 0.5)


@parametric_function_api(
    "spectral-norm",
    [
        ("W_sn", "what forward gave last", "w.shape", False),
        ("u", "singular vector", "(w.shape[dim],)", False),
    ],
)
def _spectral_norm_v1(w, dim=0, itr=1, eps=1e-12, test=False, u_init=None, fix_parameters=True):
    """`spectral_norm` composed of elementary functions, which keeps its result in the parameter ``W_sn``.

    With `test` the result is that parameter.
    """
    if not 0 <= dim < w.ndim or itr <= 0 or eps <= 0:
        raise ValueError(
            f"spectral_norm: dim must be at least 0 and below {w.ndim}, itr and eps above 0; "
            f"not dim={dim}, itr={itr}, eps={eps}"
        )
    kept = get_parameter_or_create("W_sn", w.shape, ConstantInitializer(0), False)
    rows = w.shape[dim]
    init = NormalInitializer() if u_init is None else u_init
    vector = get_parameter_or_create("u", [rows], init, False, False)
    if test:
        return kept
    order = [dim] + [axis for axis in range(w.ndim) if axis != dim]
    turned = F.transpose(w, order) if dim else w
    matrix = F.reshape(turned, [rows, w.size // rows])
    u = F.reshape(vector, [1, rows])
    for _ in range(itr):
        v = F.affine(u, matrix)
        v = F.reshape(v / (F.sum(v**2.0, keepdims=True) + eps) ** 0.5, [w.size // rows, 1])
        u = F.affine(matrix, v)
        u = F.reshape(u / (F.sum(u**2.0, keepdims=True) + eps) ** 0.5, [1, rows])
    u = F.identity(u, outputs=[vector.data])
    u.persistent = True
    u.need_grad = False
    v.need_grad = False
    result = F.reshape(matrix / F.affine(u, F.affine(matrix, v)), turned.shape)
    if dim:
        result = F.transpose(result, [order.index(axis) for axis in range(w.ndim)])
    result = F.identity(result, outputs=[kept.data])
    result.persistent = True
    return result
