"""Normalizations of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions._statistics import (
    OWN,
    expect_shape,
    kept_shape,
    refined,
    standardized,
    statistics_outputs,
    with_statistics,
)

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["spectral_norm", "weight_normalization", "weight_standardization"]


@function("WeightStandardization", "w")
def _weight_standardization(w, channel_axis=0, eps=1e-05, n_outputs=-1):
    """`weight_standardization` as one function of the graph."""
    y, *statistics = standardized(
        w, refined("weight_standardization", "channel_axis", channel_axis, w.ndim), eps, n_outputs
    )
    return with_statistics(y, tuple(statistics))


@documented(OWN)
def weight_standardization(
    w: Array, channel_axis: int | Sequence[int] = 0, eps: float = 1e-05, output_stat: bool = False
) -> Array | tuple[Array, Array, Array]:
    """Standardizes weights: those of each output channel get mean 0 and variance 1 (Qiao et al., 2019).

    Args:
        w: any shape, computed in float32.
        channel_axis: the axis of the output channels: 0 for convolutions, 1 for affine layers.

    Returns:
        Array of the shape of `w`, or a tuple of it, mean and variance.

    Raises:
        RuntimeError: `w` does not have the axis.

    Example:
        >>> F.weight_standardization(nn.NdArray.from_numpy_array(np.array([[1.0, 3.0], [4.0, 8.0]]))).data.round(3)
        array([[-1.,  1.],
               [-1.,  1.]], dtype=float32)
    """
    return _weight_standardization(w, channel_axis=channel_axis, eps=eps, n_outputs=statistics_outputs(output_stat))


@function("WeightNormalization", "w, g")
def weight_normalization(w: Array, g: Array, dim: int = 0, eps: float = 1e-12) -> Array:
    """g * w / |w|, with a norm for each index along an axis (Salimans and Kingma, 2016).

    Args:
        w: any shape, computed in float32.
        g: the new norms, (w.shape[dim],).
        dim: the axis, negative ones counted from the last.
        eps: a number that is added to the squared norm.

    Returns:
        Array of the shape of `w`.

    Raises:
        RuntimeError: `g` has another shape, `w` does not have the axis, or `eps` is not positive.

    Example:
        >>> w, g = (nn.NdArray.from_numpy_array(np.array(v)) for v in ([[3.0, 4.0], [0.0, 2.0]], [1.0, 5.0]))
        >>> F.weight_normalization(w, g).data
        array([[0.6, 0.8],
               [0. , 5. ]], dtype=float32)
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


@documented()
def spectral_norm(
    w: Array, u: Array, dim: int = 0, itr: int = 1, eps: float = 1e-12, test: bool = False, output_u: bool = False
) -> Array | tuple[Array, Array]:
    """Divides weights by their largest singular value, as a matrix with a row for each index along an axis (Miyato et
    al., 2018).

    In the gradient, the singular vectors are constants.

    Args:
        w: any shape, computed in float32.
        u: the vector from which power iterations start, (w.shape[dim],).
        dim: the axis, negative ones counted from the last.
        itr: the number of iterations.
        eps: a number that is added to norms.
        test: whether `u` stays unchanged; otherwise each forward pass writes the result of the iterations into it.
        output_u: whether to return `u`, too, with its old value.

    Returns:
        Array of the shape of `w`, or a pair of it and `u`.

    Raises:
        RuntimeError: `u` has another shape, `w` does not have the axis, or `itr` is not positive.

    Example:
        >>> w, u = (nn.NdArray.from_numpy_array(np.array(v)) for v in ([[2.0, 0.0], [0.0, 4.0]], [0.0, 1.0]))
        >>> F.spectral_norm(w, u).data
        array([[0.5, 0. ],
               [0. , 1. ]], dtype=float32)
    """
    return _spectral_norm(w, u, dim, itr, eps, test, output_u, n_outputs=2 if output_u else 1)
