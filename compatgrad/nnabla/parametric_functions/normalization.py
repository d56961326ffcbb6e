"""Normalizations of activations and of weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .. import functions as F
from ..functions._statistics import BATCH, OWN
from ..initializer import ConstantInitializer, NormalInitializer, WeightNormalizationScaleInitializer
from ..parameter import get_parameter_or_create
from ._api import layer
from ._common import axis_size, weight

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array, Initializer
    from compatgrad.nnabla.communicators import Communicator

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

# The shared sections of docstrings, in addition to those of `functions` about statistics.
_SHARED = """
Args:
    inp: any shape, computed in float32.
    fix_parameters: whether beta and gamma need no gradient.
    param_init: a dict of initializers or arrays by the names in the note; None: zeros for beta and the mean, ones for
        gamma and the variance.
    no_scale: whether to leave out gamma.
    no_bias: whether to leave out beta.
    output_stat: whether to return mean and variance of `inp`, too.
    batch_stat: whether the statistics of `inp` are used and each forward pass updates the running ones. Otherwise the
        running statistics are used.

Returns:
    Array of the shape of `inp`, or a tuple of it, mean and variance.

Raises:
    RuntimeError: the arguments do not fit one another.
    ValueError: `inp` does not have an axis, or a parameter exists with another shape.
"""


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
    """beta, gamma, mean and variance, with length 1 along the axes that are averaged."""
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


@layer("bn", _BATCH, _SHARED, BATCH)
def batch_normalization(
    inp: Array,
    axes: int | Sequence[int] = (1,),
    decay_rate: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    output_stat: bool = False,
    fix_parameters: bool = False,
    param_init: Mapping[str, Initializer] | None = None,
    no_scale: bool = False,
    no_bias: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(inp - mean) / sqrt(var + eps) * gamma + beta with the statistics of a batch or with running ones (Ioffe and
    Szegedy, 2015).

    Raises:
        AssertionError: `output_stat` is set without `batch_stat`.

    Example:
        >>> y = PF.batch_normalization(nn.Variable((4, 3)))
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters(grad_only=False).items()}
        ((4, 3), {'bn/beta': (1, 3), 'bn/gamma': (1, 3), 'bn/mean': (1, 3), 'bn/var': (1, 3)})
    """
    parameters = _batch_parameters("batch_normalization", inp, axes, fix_parameters, param_init, no_bias, no_scale)
    return F.batch_normalization(inp, *parameters, axes, decay_rate, eps, batch_stat, output_stat)


@layer("bn", _BATCH, _SHARED, BATCH)
def fused_batch_normalization(
    inp: Array,
    z: Array | None = None,
    axes: int | Sequence[int] = (1,),
    decay_rate: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    nonlinearity: str = "relu",
    output_stat: bool = False,
    fix_parameters: bool = False,
    param_init: Mapping[str, Initializer] | None = None,
    no_scale: bool = False,
    no_bias: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """relu(batch_normalization(inp) + z) as one function.

    Args:
        z: the summand, of the shape of `inp`; None: nothing.
        nonlinearity: "relu".

    Raises:
        RuntimeError: `z` has another shape, `nonlinearity` is unknown, or `output_stat` is set without
            `batch_stat`.

    Example:
        >>> y = PF.fused_batch_normalization(nn.Variable((4, 3, 8, 8)), nn.Variable((4, 3, 8, 8)))
        >>> y.shape, list(nn.get_parameters())
        ((4, 3, 8, 8), ['bn/beta', 'bn/gamma'])
    """
    parameters = _batch_parameters(
        "fused_batch_normalization", inp, axes, fix_parameters, param_init, no_bias, no_scale
    )
    return F.fused_batch_normalization(
        inp, *parameters, z, axes, decay_rate, eps, batch_stat, nonlinearity, output_stat
    )


@layer("bn", _BATCH, _SHARED, BATCH)
def sync_batch_normalization(
    inp: Array,
    comm: Communicator | None,
    group: str = "world",
    axes: int | Sequence[int] = (1,),
    decay_rate: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    output_stat: bool = False,
    fix_parameters: bool = False,
    param_init: Mapping[str, Initializer] | None = None,
    no_scale: bool = False,
    no_bias: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """`batch_normalization` with the statistics of the batches of all processes of a group, as
    `functions.sync_batch_normalization`.

    Args:
        comm: a communicator, or None for this process alone.
        group: the name of the group.

    Raises:
        RuntimeError: this process is not in the group, or `output_stat` is set without `batch_stat`.

    Example:
        >>> y = PF.sync_batch_normalization(nn.Variable((4, 3, 8, 8)), comm=None)
        >>> y.shape, list(nn.get_parameters())
        ((4, 3, 8, 8), ['bn/beta', 'bn/gamma'])
    """
    parameters = _batch_parameters("sync_batch_normalization", inp, axes, fix_parameters, param_init, no_bias, no_scale)
    return F.sync_batch_normalization(inp, *parameters, comm, group, axes, decay_rate, eps, batch_stat, output_stat)


@layer(
    "mean_subtraction",
    [("mean", "moving average", "inp.shape[base_axis:]", False), ("t", "batches counted", "(1,)", False)],
    _SHARED,
)
def mean_subtraction(
    inp: Array, base_axis: int = 1, update_running_mean: bool = True, fix_parameters: bool = False
) -> Array:
    """Subtracts the running mean of the samples, which each forward pass updates.

    Args:
        base_axis: the first axis of a sample.
        update_running_mean: whether to update the mean.
        fix_parameters: has no effect: the parameters are never learned.

    Returns:
        Array of the shape of `inp`.

    Raises:
        ValueError: `inp` has fewer axes than `base_axis`, or a parameter exists with another shape.

    Example:
        >>> y = PF.mean_subtraction(nn.Variable.from_numpy_array(np.array([[1.0, 2.0], [3.0, 6.0]])))
        >>> y.forward()
        >>> y.d
        array([[-1., -2.],
               [ 1.,  2.]], dtype=float32)
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


@layer("layer_normalization", _affine(_BY_SAMPLE), _SHARED, OWN)
def layer_normalization(
    inp: Array,
    batch_axis: int | Sequence[int] = 0,
    eps: float = 1e-05,
    output_stat: bool = False,
    fix_parameters: bool = False,
    param_init: Mapping[str, Initializer] | None = None,
    no_scale: bool = False,
    no_bias: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(inp - mean) / sqrt(var + eps) * gamma + beta with the statistics of each sample (Ba et al., 2016).

    Example:
        >>> y = PF.layer_normalization(nn.Variable((4, 3, 8)))
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((4, 3, 8), {'layer_normalization/beta': (1, 3, 8), 'layer_normalization/gamma': (1, 3, 8)})
    """
    batch_axis = _axes(batch_axis)
    shape = list(inp.shape)
    for axis in batch_axis:
        axis_size("layer_normalization", inp, "batch_axis", axis)
        shape[axis] = 1
    beta, gamma = _beta_gamma(shape, fix_parameters, param_init, no_bias, no_scale)
    return F.layer_normalization(inp, beta, gamma, batch_axis=batch_axis, eps=eps, output_stat=output_stat)


@layer("instance_normalization", _affine(_BY_CHANNEL), _SHARED, OWN)
def instance_normalization(
    inp: Array,
    channel_axis: int = 1,
    batch_axis: int | Sequence[int] = 0,
    eps: float = 1e-05,
    output_stat: bool = False,
    fix_parameters: bool = False,
    param_init: Mapping[str, Initializer] | None = None,
    no_scale: bool = False,
    no_bias: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(inp - mean) / sqrt(var + eps) * gamma + beta with the statistics of each channel of each sample.

    Ulyanov et al., 2016.

    Example:
        >>> y = PF.instance_normalization(nn.Variable((4, 3, 8)))
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((4, 3, 8), {'instance_normalization/beta': (1, 3, 1), 'instance_normalization/gamma': (1, 3, 1)})
    """
    shape = _channel_shape("instance_normalization", inp, channel_axis)
    beta, gamma = _beta_gamma(shape, fix_parameters, param_init, no_bias, no_scale)
    return F.instance_normalization(
        inp, beta, gamma, channel_axis=channel_axis, batch_axis=batch_axis, eps=eps, output_stat=output_stat
    )


@layer("group_normalization", _affine(_BY_CHANNEL), _SHARED, OWN)
def group_normalization(
    inp: Array,
    num_groups: int,
    channel_axis: int = 1,
    batch_axis: int | Sequence[int] = 0,
    eps: float = 1e-05,
    output_stat: bool = False,
    fix_parameters: bool = False,
    param_init: Mapping[str, Initializer] | None = None,
    no_scale: bool = False,
    no_bias: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(inp - mean) / sqrt(var + eps) * gamma + beta with the statistics of each group of channels of each sample.

    Wu and He, 2018.

    Args:
        num_groups: the number of groups of channels.

    Raises:
        RuntimeError: `num_groups` does not divide the channels.

    Example:
        >>> y = PF.group_normalization(nn.Variable((4, 6, 8)), 2)
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((4, 6, 8), {'group_normalization/beta': (1, 6, 1), 'group_normalization/gamma': (1, 6, 1)})
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


@layer("spectral-norm", [("u", "singular vector", "(w.shape[dim],)", False)])
def spectral_norm(
    w: Array,
    dim: int = 0,
    itr: int = 1,
    eps: float = 1e-12,
    test: bool = False,
    u_init: Initializer | None = None,
    fix_parameters: bool = True,
) -> Array:
    """Divides weights by their largest singular value, as a matrix with a row for each index along an axis (Miyato et
    al., 2018).

    Args:
        w: the weights, any shape.
        dim: the axis.
        itr: the number of power iterations.
        eps: added to norms.
        test: whether the parameter `u` stays unchanged; otherwise each forward pass writes the result of the iterations
            into it.
        u_init: initializer of `u`; None: normal numbers.
        fix_parameters: has no effect: the parameter is never learned.

    Returns:
        Array of the shape of `w`.

    Raises:
        ValueError: `w` does not have the axis, or a parameter exists with another shape.

    Example:
        >>> w = nn.Variable.from_numpy_array(np.array([[2.0, 0.0], [0.0, 4.0]]))
        >>> y = PF.spectral_norm(w, u_init=np.array([0.0, 1.0]))
        >>> y.forward()
        >>> y.d
        array([[0.5, 0. ],
               [0. , 1. ]], dtype=float32)
    """
    if not 0 <= dim < w.ndim:
        raise ValueError(f"spectral_norm: dim must be at least 0 and below {w.ndim}, not {dim}")
    init = NormalInitializer() if u_init is None else u_init
    u = get_parameter_or_create("u", (w.shape[dim],), init, False, False)
    return F.spectral_norm(w, u, dim=dim, itr=itr, eps=eps, test=test)


@layer("wn", [("g", "lengths", "(w.shape[dim],)", True)])
def weight_normalization(
    w: Array, dim: int = 0, eps: float = 1e-12, g_init: Initializer | None = None, fix_parameters: bool = False
) -> Array:
    """Weights with learned norms: g * w / |w| (Salimans and Kingma, 2016).

    Args:
        w: the weights, any shape.
        dim: the axis for each index of which there is a norm.
        eps: added to the squared norms.
        g_init: initializer of the norms; None: those of `w`.

    Returns:
        Array of the shape of `w`.

    Example:
        >>> w = nn.Variable.from_numpy_array(np.array([[3.0, 4.0], [0.0, 2.0]]))
        >>> y = PF.weight_normalization(w, g_init=np.array([1.0, 5.0]))
        >>> y.forward()
        >>> y.d
        array([[0.6, 0.8],
               [0. , 5. ]], dtype=float32)
    """
    init = WeightNormalizationScaleInitializer(w, dim, eps) if g_init is None else g_init
    return F.weight_normalization(w, weight("g", (w.shape[dim],), init, fix_parameters), dim, eps)


@layer("wn", [("g", "lengths", "(v.shape[dim],)", True)])
def _weight_normalization_v1(v, dim=0, eps=1e-12, fix_parameters=False):
    """`weight_normalization` with norms that start at 1, composed of elementary functions."""
    if not -v.ndim <= dim < v.ndim:
        raise ValueError(f"weight_normalization: dim must be at least {-v.ndim} and below {v.ndim}, not {dim}")
    if eps <= 0:
        raise ValueError(f"weight_normalization: eps must be above 0, not {eps}")
    dim %= v.ndim
    others = [axis for axis in range(v.ndim) if axis != dim]
    g = weight("g", (v.shape[dim],), ConstantInitializer(1.0), fix_parameters)
    g = F.reshape(g, [size if axis == dim else 1 for axis, size in enumerate(v.shape)])
    return g * (v / (F.sum(v**2, axis=others, keepdims=True) + eps) ** 0.5)


@layer(
    "spectral-norm",
    [
        ("W_sn", "the last result of forward", "w.shape", False),
        ("u", "singular vector", "(w.shape[dim],)", False),
    ],
)
def _spectral_norm_v1(w, dim=0, itr=1, eps=1e-12, test=False, u_init=None, fix_parameters=True):
    """`spectral_norm`, composed of elementary functions, which stores its result in the parameter ``W_sn``.

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
