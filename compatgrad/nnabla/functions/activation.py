"""Activation functions. All take and give one tensor of any shape unless they say otherwise."""

from __future__ import annotations

import math
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_axis

__all__ = [
    "celu",
    "crelu",
    "elu",
    "gelu",
    "hard_sigmoid",
    "hard_tanh",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "sinc",
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
    "tanh_shrink",
]


def _last_axis(x: Any) -> int:
    return x.ndim - 1


@function("Sigmoid", "x", primitive=True)
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return op.sigmoid(x)


@function("Swish", "x", primitive=True)
def swish(x: Any) -> Any:
    """x * sigmoid(x)."""
    return op.silu(x)


@function("Tanh", "x", primitive=True)
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return op.tanh(x)


@function("ReLU", "x", primitive=True)
def relu(x: Any, inplace: bool = False) -> Any:
    """max(x, 0); the gradient at 0 is 0. inplace: accepted, without effect."""
    return op.relu(x, rule="choice")


@function("LeakyReLU", "x", primitive=True)
def leaky_relu(x: Any, alpha: float = 0.1, inplace: bool = False) -> Any:
    """x where x > 0, else alpha * x. inplace: accepted, without effect."""
    return op.leaky_relu(x, slope=float(alpha))


@function("Softmax", "x", primitive=True, defaults={"axis": _last_axis})
def softmax(x: Any, axis: int | None = None) -> Any:
    """exp(x), scaled to sum 1 along `axis`.

    axis: in [-ndim, ndim), by default the last; RuntimeError beyond.
    """
    return op.softmax(x, axis=check_axis("softmax", _last_axis(x) if axis is None else axis, x.ndim))


@function("LogSoftmax", "x", primitive=True, defaults={"axis": _last_axis})
def log_softmax(x: Any, axis: int | None = None) -> Any:
    """Logarithm of `softmax` along `axis`, without overflow.

    axis: in [-ndim, ndim), by default the last; RuntimeError beyond.
    """
    return op.log_softmax(x, axis=check_axis("log_softmax", _last_axis(x) if axis is None else axis, x.ndim))


@function("ELU", "x", primitive=True)
def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where x >= 0, else alpha * (exp(x) - 1)."""
    return op.elu_right(x, alpha=float(alpha))


@function("SELU", "x", primitive=True)
def selu(x: Any, scale: float = 1.05070098735548, alpha: float = 1.673263242354377) -> Any:
    """scale * x where x > 0, else scale * alpha * (exp(x) - 1).

    The default numbers keep mean 0 and variance 1 through layers.
    """
    return op.elu(x, alpha=float(alpha), scale=float(scale))


@function("CReLU", "x", primitive=True)
def crelu(x: Any, axis: int = 1) -> Any:
    """relu(x) and relu(-x), joined along `axis`, which becomes twice as long.

    axis: in [-ndim, ndim); RuntimeError beyond. The gradient at 0 is that of the second half.
    """
    return op.crelu(x, axis=check_axis("crelu", axis, x.ndim))


@function("CELU", "x", primitive=True)
def celu(x: Any, alpha: float = 1.0, axis: int = 1) -> Any:
    """elu(x) and elu(-x), joined along `axis`, which becomes twice as long.

    alpha: as in `elu`. axis: in [-ndim, ndim); RuntimeError beyond.
    """
    return op.celu(x, alpha=float(alpha), axis=check_axis("celu", axis, x.ndim))


@function("PReLU", "x0, x1", primitive=True)
def prelu(x0: Any, x1: Any, base_axis: int = 1) -> Any:
    """x0 where x0 >= 0, else slope * x0, with a learned slope.

    x1: the slopes, of shape (C,) with C = x0.shape[base_axis], or of one element for all. RuntimeError for
    other shapes and for a base_axis beyond [-ndim, ndim).
    """
    axis = check_axis("prelu", base_axis, x0.ndim, "base_axis")
    size = math.prod(x1.shape)
    if size != 1 and tuple(x1.shape) != (x0.shape[axis],):
        raise RuntimeError(
            "prelu: the negative slope must be a scalar or a 1d tensor of length "
            f"{x0.shape[axis]}, as axis {axis} of x0, not of shape {tuple(x1.shape)}."
        )
    if size == 1 and x1.ndim > max(x0.ndim - 1, 0):
        return op.prelu(x0, op.reshape(x1, shape=()))
    if size == 1 or axis == 1:
        return op.prelu(x0, x1)
    if axis > 1:
        return op.prelu(x0, op.reshape(x1, shape=(1,) * (axis - 1) + (size,)))
    y = op.prelu(op.reshape(x0, shape=(1, *x0.shape)), x1)
    return op.reshape(y, shape=tuple(x0.shape))


@function("GELU", "x", primitive=True)
def gelu(x: Any) -> Any:
    """x times the normal distribution function at x, approximated by tanh as in nnabla."""
    return op.gelu(x, approximate=True)


@function("Mish", "x", primitive=True)
def mish(x: Any) -> Any:
    """x * tanh(log(1 + exp(x)))."""
    return op.mish(x)


@function("ReLU6", "x", primitive=True)
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); the gradient at 0 and 6 is 0."""
    return op.clipped_relu(x, z=6.0, product=False)


@function("HardSigmoid", "x", primitive=True)
def hard_sigmoid(x: Any) -> Any:
    """0.2 * x + 0.5, limited to [0, 1]; the gradient on the limits is 0.2."""
    return op.hard_sigmoid_closed(x)


@function("HardTanh", "x", primitive=True)
def hard_tanh(x: Any) -> Any:
    """x limited to [-1, 1]; the gradient on the limits is 1."""
    return op.clip(x, min=-1.0, max=1.0, product=False)


@function("LogSigmoid", "x", primitive=True)
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without overflow."""
    return op.log_sigmoid(x)


@function("SoftPlus", "x", primitive=True)
def softplus(x: Any, beta: float = 1.0) -> Any:
    """log(1 + exp(beta * x)) / beta, without overflow."""
    return op.softplus(x, beta=float(beta))


@function("SoftSign", "x", primitive=True)
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return op.softsign(x)


@function("TanhShrink", "x", primitive=True)
def tanh_shrink(x: Any) -> Any:
    """x - tanh(x)."""
    return op.tanh_shrink(x)


@function("Sinc", "x", primitive=True)
def sinc(x: Any) -> Any:
    """sin(x) / x, and 1 at 0; derivatives of any order are exact also near 0."""
    return op.sinc(x)
