"""Functions that return their input unchanged, but change or store its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._statistics import (
    expect_shape,
    refined,
)

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array


__all__ = ["clip_grad_by_norm", "clip_grad_by_value", "vat_noise"]


@function("ClipGradByValue", "x, min, max", primitive=True)
def clip_grad_by_value(x: Array, min: Array, max: Array) -> Array:
    """The array itself, whose gradient is clipped element by element.

    Args:
        x: any shape.
        min, max: the limits, of the shape of `x` or one that broadcasts to it. They get no gradient.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: in the backward pass, a limit does not broadcast.

    Example:
        >>> x = nn.Variable((3,), need_grad=True)
        >>> low, high = (nn.Variable.from_numpy_array(np.array([v])) for v in (-1.0, 1.0))
        >>> y = F.clip_grad_by_value(x, low, high)
        >>> y.forward()
        >>> y.backward(nn.NdArray.from_numpy_array(np.array([-5.0, 0.5, 2.0])))
        >>> x.g
        array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return op.clip_grad_by_value(x, min, max)


@function("ClipGradByNorm", "x", primitive=True, defaults={"axes": lambda x: list(range(x.ndim))})
def clip_grad_by_norm(x: Array, clip_norm: float = 1.0, axes: Sequence[int] | None = None) -> Array:
    """The array itself, whose gradient g becomes clip_norm * g / |g|.

    As in nnabla, the gradient is also scaled where its norm is less than `clip_norm`.

    Args:
        x: any shape.
        clip_norm: the norm of the new gradient.
        axes: the axes of the norm, negative ones counted from the last; None for all.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `x` does not have an axis.

    Example:
        >>> x = nn.Variable((2,), need_grad=True)
        >>> y = F.clip_grad_by_norm(x, clip_norm=1.0)
        >>> y.forward()
        >>> y.backward(nn.NdArray.from_numpy_array(np.array([3.0, 4.0])))
        >>> x.g
        array([0.6, 0.8], dtype=float32)
    """
    axes = range(x.ndim) if axes is None else axes
    axes = refined("clip_grad_by_norm", "axes", axes, x.ndim)
    return op.clip_grad_by_norm(x, norm=clip_norm, axes=axes)


@function("VATNoise", "x, w", primitive=True, effects=True)
def vat_noise(x: Array, w: Array, base_axis: int = 1, eps: float = 1.0) -> Array:
    """eps * x / |x|, noise for virtual adversarial training (Miyato et al., 2015). The backward pass stores its
    gradient in `w`.

    Args:
        x: any shape; it gets no gradient.
        w: an array of the shape of `x`, into which the backward pass writes the gradient of the result times `eps`.
        base_axis: the first axis of a sample, over which the norm is computed; negative ones are counted from the last.
        eps: the norm of the noise.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `w` has another shape, or `x` does not have the axis.

    Example:
        >>> x, w = (nn.NdArray.from_numpy_array(np.array(v)) for v in ([[3.0, 4.0]], [[0.0, 0.0]]))
        >>> F.vat_noise(x, w, eps=0.5).data
        array([[0.3, 0.4]], dtype=float32)
    """
    (base_axis,) = refined("vat_noise", "base_axis", base_axis, x.ndim)
    expect_shape("vat_noise", "w", w, x.shape)
    return op.vat_noise(x, w, base_axis=base_axis, eps=eps)
