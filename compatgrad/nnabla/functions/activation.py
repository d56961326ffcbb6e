"""Activation functions. Unless their docstrings say otherwise, they compute an array of the same shape from one array
of any shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._direct import Direct
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.functions._sections import POINTWISE

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

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


@function("Sigmoid", "x", primitive=True, shared=(POINTWISE,))
def sigmoid(x: Array) -> Array:
    """Logistic function, 1 / (1 + exp(-x)), element-wise.

    Example:
        >>> F.sigmoid(nn.NdArray.from_numpy_array(np.array([-2.0, 0.0, 2.0]))).data
        array([0.11920292, 0.5       , 0.880797  ], dtype=float32)
    """
    return op.sigmoid(x)


@function("Swish", "x", primitive=True, shared=(POINTWISE,))
def swish(x: Array) -> Array:
    """x * sigmoid(x), element-wise (Ramachandran et al., 2017).

    Example:
        >>> F.swish(nn.NdArray.from_numpy_array(np.array([-2.0, 0.0, 2.0]))).data
        array([-0.23840584,  0.        ,  1.761594  ], dtype=float32)
    """
    return op.silu(x)


@function("Tanh", "x", primitive=True, shared=(POINTWISE,))
def tanh(x: Array) -> Array:
    """Hyperbolic tangent, element-wise.

    Example:
        >>> F.tanh(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 1.0]))).data
        array([-0.7615942,  0.       ,  0.7615942], dtype=float32)
    """
    return op.tanh(x)


@function("ReLU", "x", primitive=True, direct=Direct({"rule": "choice"}))
def relu(x: Array, inplace: bool = False) -> Array:
    """max(x, 0), element-wise; the gradient at 0 is 0.

    Args:
        x: any shape, computed in float32.
        inplace: accepted, without effect, as in nnabla.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.relu(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 2.0]))).data
        array([0., 0., 2.], dtype=float32)
    """
    return op.relu(x, rule="choice")


@function("LeakyReLU", "x", primitive=True)
def leaky_relu(x: Array, alpha: float = 0.1, inplace: bool = False) -> Array:
    """x where x > 0, else alpha * x.

    Args:
        x: any shape, computed in float32.
        alpha: the slope below 0.
        inplace: accepted, without effect, as in nnabla.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.leaky_relu(nn.NdArray.from_numpy_array(np.array([-1.0, 2.0])), alpha=0.2).data
        array([-0.2,  2. ], dtype=float32)
    """
    return op.leaky_relu(x, slope=float(alpha))


@function("Softmax", "x", primitive=True, defaults={"axis": _last_axis})
def softmax(x: Array, axis: int | None = None) -> Array:
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        x: any shape of one axis or more, computed in float32.
        axis: in [-ndim, ndim), by default the last.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `x` does not have the axis.

    Example:
        >>> F.softmax(nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [5.0, 5.0]]))).data
        array([[0.26894143, 0.7310586 ],
               [0.5       , 0.5       ]], dtype=float32)
    """
    return op.softmax(x, axis=check_axis("softmax", _last_axis(x) if axis is None else axis, x.ndim))


@function("LogSoftmax", "x", primitive=True, defaults={"axis": _last_axis})
def log_softmax(x: Array, axis: int | None = None) -> Array:
    """Logarithm of `softmax` along an axis, without overflow.

    Args:
        x: any shape of one axis or more, computed in float32.
        axis: in [-ndim, ndim), by default the last.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `x` does not have the axis.

    Example:
        >>> F.log_softmax(nn.NdArray.from_numpy_array(np.array([[0.0, 0.0], [0.0, 100.0]]))).data
        array([[  -0.6931472,   -0.6931472],
               [-100.       ,    0.       ]], dtype=float32)
    """
    return op.log_softmax(x, axis=check_axis("log_softmax", _last_axis(x) if axis is None else axis, x.ndim))


@function("ELU", "x", primitive=True)
def elu(x: Array, alpha: float = 1.0) -> Array:
    """x where x >= 0, else alpha * (exp(x) - 1) (Clevert et al., 2015).

    Args:
        x: any shape, computed in float32.
        alpha: the result tends to `-alpha` for x towards minus infinity.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.elu(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 2.0]))).data
        array([-0.63212055,  0.        ,  2.        ], dtype=float32)
    """
    return op.elu_right(x, alpha=float(alpha))


@function("SELU", "x", primitive=True)
def selu(x: Array, scale: float = 1.05070098735548, alpha: float = 1.673263242354377) -> Array:
    """scale * x where x > 0, else scale * alpha * (exp(x) - 1) (Klambauer et al., 2017).

    With the default numbers, activations tend to mean 0 and variance 1.

    Args:
        x: any shape, computed in float32.
        scale: the slope above 0.
        alpha: see `elu`.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.selu(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 1.0]))).data
        array([-1.1113307,  0.       ,  1.050701 ], dtype=float32)
    """
    return op.elu(x, alpha=float(alpha), scale=float(scale))


@function("CReLU", "x", primitive=True)
def crelu(x: Array, axis: int = 1) -> Array:
    """relu(x) and relu(-x), joined along an axis, which becomes twice as long (Shang et al., 2016).

    The gradient at 0 is that of the second half.

    Args:
        x: an array that has the axis `axis`; computed in float32.
        axis: in [-ndim, ndim), the axis to join along.

    Returns:
        Array of the shape of `x`, with twice the length along `axis`.

    Raises:
        RuntimeError: `x` does not have the axis.

    Example:
        >>> F.crelu(nn.NdArray.from_numpy_array(np.array([[-1.0, 2.0]]))).data
        array([[0., 2., 1., 0.]], dtype=float32)
    """
    return op.crelu(x, axis=check_axis("crelu", axis, x.ndim))


@function("CELU", "x", primitive=True)
def celu(x: Array, alpha: float = 1.0, axis: int = 1) -> Array:
    """elu(x) and elu(-x), joined along an axis, which becomes twice as long.

    Args:
        x: an array that has the axis `axis`; computed in float32.
        alpha: see `elu`.
        axis: in [-ndim, ndim), the axis to join along.

    Returns:
        Array of the shape of `x`, with twice the length along `axis`.

    Raises:
        RuntimeError: `x` does not have the axis.

    Example:
        >>> F.celu(nn.NdArray.from_numpy_array(np.array([[-1.0, 2.0]]))).data
        array([[-0.63212055,  2.        ,  1.        , -0.86466473]],
              dtype=float32)
    """
    return op.celu(x, alpha=float(alpha), axis=check_axis("celu", axis, x.ndim))


@function("PReLU", "x0, x1", primitive=True)
def prelu(x0: Array, x1: Array, base_axis: int = 1) -> Array:
    """x0 where x0 >= 0, else slope * x0, with a learned slope (He et al., 2015).

    Args:
        x0: any shape, computed in float32.
        x1: the slopes, of shape (C,) with C = x0.shape[base_axis], or of one element for all.
        base_axis: in [-ndim, ndim), the axis of the channels.

    Returns:
        Array of the shape of `x0`.

    Raises:
        RuntimeError: `x1` has another shape, or `x0` does not have the axis.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.prelu(array(np.array([[-1.0, -1.0], [2.0, -4.0]])), array(np.array([0.5, 0.25]))).data
        array([[-0.5 , -0.25],
               [ 2.  , -1.  ]], dtype=float32)
    """
    axis = check_axis("prelu", base_axis, x0.ndim, "base_axis")
    size = math.prod(x1.shape)
    if size != 1 and tuple(x1.shape) != (x0.shape[axis],):
        raise RuntimeError(
            "prelu: the negative slope must be a scalar or a 1d tensor of length "
            f"{x0.shape[axis]}, as axis {axis} of x0, not of shape {tuple(x1.shape)}."
        )
    if size == 1 and x1.ndim > max(x0.ndim - 1, 0):
        return op.prelu(x0, op.reshape(x1, shape=()), nan=False)
    if size == 1 or axis == 1:
        return op.prelu(x0, x1, nan=False)
    if axis > 1:
        return op.prelu(x0, op.reshape(x1, shape=(1,) * (axis - 1) + (size,)), nan=False)
    y = op.prelu(op.reshape(x0, shape=(1, *x0.shape)), x1, nan=False)
    return op.reshape(y, shape=tuple(x0.shape))


@function("GELU", "x", primitive=True, shared=(POINTWISE,))
def gelu(x: Array) -> Array:
    """x times the normal distribution function at x, approximated by tanh (Hendrycks and Gimpel, 2016).

    It is x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))).

    Example:
        >>> F.gelu(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 1.0]))).data
        array([-0.158808,  0.      ,  0.841192], dtype=float32)
    """
    return op.gelu(x, approximate=True)


@function("Mish", "x", primitive=True, shared=(POINTWISE,))
def mish(x: Array) -> Array:
    """x * tanh(log(1 + exp(x))), element-wise (Misra, 2019).

    Example:
        >>> F.mish(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 1.0]))).data
        array([-0.30340144,  0.        ,  0.86509836], dtype=float32)
    """
    return op.mish(x)


@function("ReLU6", "x", primitive=True, shared=(POINTWISE,))
def relu6(x: Array) -> Array:
    """min(max(x, 0), 6), element-wise; the gradient at 0 and 6 is 0.

    Example:
        >>> F.relu6(nn.NdArray.from_numpy_array(np.array([-1.0, 3.0, 8.0]))).data
        array([0., 3., 6.], dtype=float32)
    """
    return op.clipped_relu(x, z=6.0, product=False)


@function("HardSigmoid", "x", primitive=True, shared=(POINTWISE,))
def hard_sigmoid(x: Array) -> Array:
    """0.2 * x + 0.5, limited to [0, 1]; the gradient on the limits is 0.2.

    Example:
        >>> F.hard_sigmoid(nn.NdArray.from_numpy_array(np.array([-3.0, 0.0, 1.0]))).data
        array([0. , 0.5, 0.7], dtype=float32)
    """
    return op.hard_sigmoid_closed(x)


@function("HardTanh", "x", primitive=True, shared=(POINTWISE,))
def hard_tanh(x: Array) -> Array:
    """x limited to [-1, 1]; the gradient on the limits is 1.

    Example:
        >>> F.hard_tanh(nn.NdArray.from_numpy_array(np.array([-3.0, 0.5, 2.0]))).data
        array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return op.clip(x, min=-1.0, max=1.0, product=False)


@function("LogSigmoid", "x", primitive=True, shared=(POINTWISE,))
def log_sigmoid(x: Array) -> Array:
    """log(sigmoid(x)), element-wise, without overflow for large negative x.

    Example:
        >>> F.log_sigmoid(nn.NdArray.from_numpy_array(np.array([-100.0, 0.0]))).data
        array([-100.       ,   -0.6931472], dtype=float32)
    """
    return op.log_sigmoid(x)


@function("SoftPlus", "x", primitive=True)
def softplus(x: Array, beta: float = 1.0) -> Array:
    """log(1 + exp(beta * x)) / beta, element-wise, without overflow: a smooth `relu`.

    Args:
        x: any shape, computed in float32.
        beta: the larger it is, the closer the result is to `relu`.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.softplus(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 100.0]))).data.round(4)
        array([  0.3133,   0.6931, 100.    ], dtype=float32)
    """
    return op.softplus(x, beta=float(beta))


@function("SoftSign", "x", primitive=True, shared=(POINTWISE,))
def softsign(x: Array) -> Array:
    """x / (1 + |x|), element-wise.

    Example:
        >>> F.softsign(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 3.0]))).data
        array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    return op.softsign(x)


@function("TanhShrink", "x", primitive=True, shared=(POINTWISE,))
def tanh_shrink(x: Array) -> Array:
    """x - tanh(x), element-wise.

    Example:
        >>> F.tanh_shrink(nn.NdArray.from_numpy_array(np.array([-1.0, 0.0, 1.0]))).data
        array([-0.23840582,  0.        ,  0.23840582], dtype=float32)
    """
    return op.tanh_shrink(x)


@function("Sinc", "x", primitive=True, shared=(POINTWISE,))
def sinc(x: Array) -> Array:
    """sin(x) / x, and 1 at 0; derivatives of any order are exact also near 0.

    Example:
        >>> F.sinc(nn.NdArray.from_numpy_array(np.array([0.0, np.pi / 2, -1.0]))).data
        array([1.        , 0.63661975, 0.84147096], dtype=float32)
    """
    return op.sinc(x)
