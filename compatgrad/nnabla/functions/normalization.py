"""Normalization by the statistics of a batch, by running statistics, or by those of an array itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions._statistics import (
    BATCH,
    batch_arguments,
    check_batch,
    expect_shape,
    kept_shape,
    refined,
    scaled,
    standardized,
    statistics_outputs,
    with_statistics,
)

# after this import, the function of one process is the one that files name
from compatgrad.nnabla.functions._synchronized import normalized_over_processes

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array
    from compatgrad.nnabla.communicators import Communicator

__all__ = [
    "batch_normalization",
    "fused_batch_normalization",
    "mean_subtraction",
    "sync_batch_normalization",
    "tensor_normalization",
]


# ---- batch normalization ------------------------------------------------------------------------------------
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
    axes = check_batch(
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
    axes = check_batch(
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
    """`sync_batch_normalization` of one process as one function of the graph."""
    axes = check_batch(
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


@documented(BATCH)
def batch_normalization(
    x: Array,
    beta: Array | None,
    gamma: Array | None,
    mean: Array | None,
    variance: Array | None,
    axes: int | Sequence[int] = (1,),
    decay_rate: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    output_stat: bool = False,
    n_outputs: int | None = None,
) -> Array | tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + eps) * gamma + beta with the statistics of a batch or with running ones (Ioffe and
    Szegedy, 2015).

    For several axes, too, it is a single function and updates the running statistics; nnabla adds transpositions and
    does not update them.

    Raises:
        AssertionError: `output_stat` is set without `batch_stat`.
        RuntimeError: `x` does not have an axis, or a running statistic has another shape.
        ValueError: `beta` or `gamma` has another shape, running statistics are missing without `batch_stat`, or with
            `batch_stat` they are results of a function.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [3.0, 6.0]]))
        >>> mean, variance = (nn.NdArray.from_numpy_array(np.full((1, 2), v)) for v in (0.0, 1.0))
        >>> F.batch_normalization(x, None, None, mean, variance).data.round(3)
        array([[-1., -1.],
               [ 1.,  1.]], dtype=float32)
        >>> mean.data, variance.data
        (array([[0.2, 0.4]], dtype=float32), array([[1.1, 1.7]], dtype=float32))
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


@documented(BATCH)
def fused_batch_normalization(
    x: Array,
    beta: Array | None,
    gamma: Array | None,
    mean: Array | None,
    variance: Array | None,
    z: Array | None = None,
    axes: int | Sequence[int] = (1,),
    decay_rate: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    nonlinearity: str = "relu",
    output_stat: bool = False,
    n_outputs: int | None = None,
) -> Array | tuple[Array, Array, Array]:
    """relu(batch_normalization(x, ...) + z) as one function.

    Args:
        z: the summand, of the shape of `x`; None: nothing.
        nonlinearity: "relu".

    Raises:
        RuntimeError: `x` does not have an axis, a running statistic or `z` has another shape, `nonlinearity` is
            unknown, or `output_stat` is set without `batch_stat`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [3.0, 6.0]]))
        >>> F.fused_batch_normalization(x, None, None, None, None).data.round(3)
        array([[0., 0.],
               [1., 1.]], dtype=float32)
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


@documented(BATCH)
def sync_batch_normalization(
    x: Array,
    beta: Array | None,
    gamma: Array | None,
    mean: Array | None,
    variance: Array | None,
    comm: Communicator | None,
    group: str = "world",
    axes: int | Sequence[int] = (1,),
    decay_rate: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    output_stat: bool = False,
    n_outputs: int | None = None,
) -> Array | tuple[Array, Array, Array]:
    """`batch_normalization` with the statistics of the batches of all processes of a group. All of them must call it,
    and `backward`, in the same order. The gradients of `beta` and `gamma` are those of this process's batch: they are
    added up with the other gradients. Gradients of mean and variance (`output_stat`) are not added up.

    Args:
        comm: a communicator, or None for this process alone.
        group: the name of the group.

    Raises:
        RuntimeError: this process is not in the group, `x` does not have an axis, a running statistic has another
            shape, or `output_stat` is set without `batch_stat`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [3.0, 6.0]]))
        >>> F.sync_batch_normalization(x, None, None, None, None, comm=None).data.round(3)
        array([[-1., -1.],
               [ 1.,  1.]], dtype=float32)
    """
    axes, beta, gamma, mean, variance = batch_arguments(x, axes, beta, gamma, mean, variance, batch_stat, fill=True)
    several = batch_stat and comm is not None and comm._enter("sync_batch_normalization", group).size > 1
    normalized = normalized_over_processes if several else _sync_batch_normalization
    return normalized(
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
@function("TensorNormalization", "x, beta?, gamma?")
def _tensor_normalization(x, beta=None, gamma=None, axes=(1,), eps=1e-05, no_scale=False, no_bias=False, n_outputs=-1):
    """`tensor_normalization` as one function of the graph."""
    axes = refined("tensor_normalization", "axes", axes, x.ndim)
    for argument, parameter in (("beta", beta), ("gamma", gamma)):
        expect_shape("tensor_normalization", argument, parameter, kept_shape(x, axes))
    y, *statistics = standardized(x, axes, eps, n_outputs)
    return with_statistics(scaled(y, gamma, beta), tuple(statistics))


@documented(BATCH)
def tensor_normalization(
    x: Array,
    axes: int | Sequence[int],
    beta: Array | None = None,
    gamma: Array | None = None,
    eps: float = 1e-05,
    output_stat: bool = False,
) -> Array | tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + eps) * gamma + beta with the statistics of the array itself.

    Raises:
        RuntimeError: `x` does not have an axis.
        ValueError: `beta` or `gamma` has another shape.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [3.0, 6.0]]))
        >>> F.tensor_normalization(x, axes=0).data.round(3)
        array([[-1.,  1.],
               [-1.,  1.]], dtype=float32)
    """
    return batch_normalization(
        x, beta, gamma, None, None, axes=axes, decay_rate=0.0, eps=eps, batch_stat=True, output_stat=output_stat
    )


# ---- running means -------------------------------------------------------------------------------
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


@documented()
def mean_subtraction(
    x: Array, mean: Array, t: Array | None, base_axis: int = 1, update_running_mean: bool = True
) -> Array:
    """Subtracts the running mean of the samples. In the gradient, the mean from before the pass is a constant; nnabla's
    gradient also ignores that each sample contributes to the mean of its batch.

    Args:
        x: any shape, computed in float32.
        mean: the running mean, of shape x.shape[base_axis:].
        t: one number: the number of batches in the mean.
        base_axis: the first axis of a sample, negative ones counted from the last.
        update_running_mean: whether each forward pass first moves `mean` by 1 / (t + 1) towards the mean of `x`, and
            adds 1 to `t`, both in place.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `mean` has another shape, `t` does not have one element, or `t` is missing with
            `update_running_mean`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [3.0, 6.0]]))
        >>> mean, t = nn.NdArray.from_numpy_array(np.zeros(2)), nn.NdArray.from_numpy_array(np.zeros(1))
        >>> F.mean_subtraction(x, mean, t).data
        array([[-1., -2.],
               [ 1.,  2.]], dtype=float32)
        >>> mean.data, t.data
        (array([2., 4.], dtype=float32), array([1.], dtype=float32))
    """
    return _mean_subtraction(x, mean, t, base_axis=base_axis, update_running_mean=update_running_mean)
