"""Layers without windows: fully connected, activations, softmax, dropout, embedding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from compatgrad import _C

from .._frontend import fe
from ..base import MXNetError
from ._arguments import axes_in, axis_in, check_bias, choice, fraction, public_names, require_shape, required, whole
from ._operator import op, operator
from ._random_state import generator
from .ndarray import NDArray, torch_dtype

_get_mode = _C.get_mode
_FLOATS = (np.float32, np.float64, np.float16)


# ---- fully connected -------------------------------------------------------------------------------------------------
@operator(
    "data, weight, bias? unless no_bias",
    plain=(
        "_fits(_fe, data, weight, bias, num_hidden, no_bias)",
        "_linear(data, weight, bias)",
        {"_fits": _C.dense_fits, "_fe": fe, "_linear": op.linear},
    ),
)
def FullyConnected(data, weight, bias=None, num_hidden=None, no_bias=False, flatten=True):
    """data @ weight.T + bias for weight (num_hidden, in) and bias (num_hidden,).

    data: (batch, ...), all axes but the first becoming `in`; without `flatten` (..., in), giving (..., num_hidden).
    MXNetError if shapes do not fit together.

    Args:
        data: floating point, shape (batch, ...).
        weight: shape (num_hidden, number of inputs), of the dtype of `data`.

    Example:
        >>> nd.FullyConnected(nd.ones((1, 2)), nd.array([[1.0, 2.0]]), nd.array([0.5]), num_hidden=1).asnumpy()
        array([[3.5]], dtype=float32)
    """
    shape = data.shape
    width = shape[-1] if len(shape) == 2 or not flatten else math.prod(shape[1:])
    if type(num_hidden) is not int or weight.shape != (num_hidden, width):
        num_hidden = whole("FullyConnected", "num_hidden", num_hidden)
        if weight.shape != (num_hidden, width):
            expected = f"({num_hidden}, {width}) for data of the shape {data.shape}"
            raise MXNetError(f"FullyConnected: weight must have the shape {expected}, got {weight.shape}")
    if bias is None or no_bias or bias.shape != (num_hidden,):
        if bias is not None and bias.shape == (num_hidden, 1):  # the original accepts a column too
            bias = op.reshape(bias, shape=(num_hidden,))
        check_bias("FullyConnected", bias, no_bias, num_hidden)
    if len(shape) == 2:
        return op.linear(data, weight, bias)
    if flatten:
        return op.linear(op.reshape(data, shape=(shape[0], width)), weight, bias)
    rows = op.reshape(data, shape=(math.prod(shape[:-1]), width))
    return op.reshape(op.linear(rows, weight, bias), shape=(*shape[:-1], num_hidden))


# ---- activations -----------------------------------------------------------------------------------------------------
_ACTIVATIONS: dict[str, Callable[[NDArray], NDArray]] = {
    "relu": op.relu, "sigmoid": op.sigmoid, "softrelu": op.softplus, "softsign": op.softsign, "tanh": op.tanh,
}  # fmt: skip


@operator("data")
def Activation(data, act_type=""):
    """One of relu, sigmoid, softrelu (log(1 + exp(x))), softsign (x / (1 + |x|)) and tanh of each element.

    MXNetError for another `act_type`.

    Args:
        data: floating point, any shape.
        act_type: "relu", "sigmoid", "tanh", "softrelu" or "softsign".

    Example:
        >>> nd.Activation(nd.array([-1.0, 2.0]), act_type="relu").asnumpy()
        array([0., 2.], dtype=float32)
    """
    f = _ACTIVATIONS.get(act_type)
    if f is None:
        choice("Activation", "act_type", act_type)
    return f(data)


def _along_channels(name: str, gamma: NDArray, data: NDArray) -> NDArray:
    """Slopes (1,), (channels,) or (batch, channels), reshaped to multiply `data` along its channels."""
    n = data.ndim
    if n > 1 and gamma.shape == data.shape[:2]:
        return op.reshape(gamma, shape=(*data.shape[:2], *(1,) * (n - 2)))
    channels = data.shape[1] if n > 1 else data.shape[0]
    if gamma.shape == (1,) or n == 1:
        if gamma.shape not in ((1,), (channels,)):
            require_shape(name, "gamma", gamma.shape, (channels,))
        return gamma
    require_shape(name, "gamma", gamma.shape, (channels,))
    return op.reshape(gamma, shape=(channels, *(1,) * (n - 2)))


@operator("data, gamma? if act_type=prelu")
def LeakyReLU(data, gamma=None, act_type="leaky", slope=0.25, lower_bound=0.125, upper_bound=0.334):
    """x where it is positive, else a function of x with a smaller slope.

    act_type: "leaky": slope * x; "prelu": gamma * x, gamma of shape (1,), (channels,) or (batch, channels); "elu":
    slope * (exp(x) - 1); "selu": the scaled exponential linear unit; "gelu": x times the normal distribution function
    of x; "rrelu": x times a slope, which is drawn between the bounds for each element, or their mean in predict mode.
    MXNetError otherwise.

    Args:
        data: floating point, any shape.
        gamma (NDArray): slopes for "prelu", one for each channel (axis 1), or one.
        act_type: "leaky", "prelu", "elu", "selu", "gelu" or "rrelu".

    Example:
        >>> nd.LeakyReLU(nd.array([-1.0, 2.0]), act_type="leaky", slope=0.1).asnumpy()
        array([-0.1,  2. ], dtype=float32)
    """
    choice("LeakyReLU", "act_type", act_type)
    if (gamma is not None) != (act_type == "prelu"):
        raise MXNetError(f"LeakyReLU: act_type={act_type!r} {'needs' if gamma is None else 'takes no'} gamma")
    if act_type == "leaky":
        return op.leaky_relu(data, slope=slope)
    if act_type == "elu":
        return op.elu(data, alpha=slope, nan=False)
    if act_type == "selu":
        return op.elu(data, alpha=1.6732632423543772, scale=1.0507009873554805, nan=False)
    if act_type == "gelu":
        return op.gelu(data)
    positive = op.greater_scalar(data, value=0)
    if act_type == "prelu":
        return op.where(positive, data, op.mul(data, _along_channels("LeakyReLU", gamma, data)))
    t = data.tensor
    if _get_mode("training"):
        slopes = torch.rand(t.shape, dtype=t.dtype, device=t.device, generator=generator(t.device))
        slopes = lower_bound + (upper_bound - lower_bound) * slopes
    else:
        slopes = torch.full_like(t, (lower_bound + upper_bound) / 2)
    return op.dropout_mask(data, mask=torch.where(t > 0, torch.ones_like(t), slopes))


# ---- softmax ---------------------------------------------------------------------------------------------------------
def _wide(data: NDArray, dtype: Any, name: str) -> tuple[NDArray, Any]:
    """The input in the wider one of its dtype and `dtype`, and the dtype to which the result must still be cast."""
    if not data.tensor.is_floating_point():
        raise MXNetError(f"{name}: data must be of a floating point type, got {np.dtype(data.dtype).name}")
    if dtype is None:
        return data, None
    wanted, given = torch_dtype(dtype, f"{name}: dtype"), data.tensor.dtype
    if wanted == given:
        return data, None
    return (op.cast(data, dtype=wanted), None) if wanted.itemsize > given.itemsize else (data, wanted)


def _softmax(name: str, f: Callable[..., NDArray], data: NDArray, axis: int, temperature: Any, dtype: Any) -> NDArray:
    axis_in(name, axis, data.ndim)
    data, later = _wide(data, dtype, name)
    if temperature is not None and temperature != 1:
        data = op.div_scalar(data, value=temperature)
    y = f(data, axis=axis)
    return y if later is None else op.cast(y, dtype=later)


def _no_length(name: str, use_length: Any) -> None:
    if use_length:
        raise MXNetError(f"{name}: use_length must be False: this operator takes no length")


@operator("data, length? if use_length", method=True)
def softmax(data, length=None, axis=-1, temperature=None, dtype=None, use_length=False):
    """exp(data / temperature), scaled to sum 1 along `axis`.

    With `use_length`, elements from position `length` on are left out and become 0; length, of an integer dtype, has
    data's shape without `axis`. `dtype`: the dtype of the result. MXNetError if shapes or dtypes do not fit.

    Args:
        data: floating point, at least one axis.

    Example:
        >>> nd.softmax(nd.array([[0.0, 0.0]])).asnumpy()
        array([[0.5, 0.5]], dtype=float32)
    """
    if not use_length and length is None:
        # `tensor` would read values, which the scores of an attention need not have yet
        if dtype is None and temperature is None and data.dtype in _FLOATS and -data.ndim <= axis < data.ndim:
            return op.softmax(data, axis=axis)
        return _softmax("softmax", op.softmax, data, axis, temperature, dtype)
    if length is None or not use_length:
        raise MXNetError(f"softmax: length must {'' if use_length else 'not '}be given with use_length={use_length}")
    n = data.ndim
    k = axis_in("softmax", axis, n)
    if length.tensor.is_floating_point():
        raise MXNetError(f"softmax: length must be of an integer type, got {np.dtype(length.dtype).name}")
    require_shape("softmax", "length", length.shape, data.shape[:k] + data.shape[k + 1 :] or (1,))
    places = torch.arange(data.shape[k], device=data.tensor.device).reshape(-1, *(1,) * (n - 1 - k))
    ends = length.tensor.unsqueeze(k) if n > 1 else length.tensor
    beyond = (places >= ends).expand(data.shape)
    low = torch.finfo(data.tensor.dtype).min
    y = _softmax("softmax", op.softmax, op.bool_fill(data, NDArray(beyond), value=low), k, temperature, dtype)
    return op.dropout_mask(y, mask=~beyond)


@operator("data", method=True)
def log_softmax(data, axis=-1, temperature=None, dtype=None, use_length=False):
    """The logarithm of `softmax`, without overflow.

    Args:
        data: floating point, at least one axis.

    Example:
        >>> nd.log_softmax(nd.array([[0.0, 0.0]])).asnumpy().round(3)
        array([[-0.693, -0.693]], dtype=float32)
    """
    if dtype is None and temperature is None and not use_length and -data.ndim <= axis < data.ndim:
        return op.log_softmax(data, axis=axis)
    _no_length("log_softmax", use_length)
    return _softmax("log_softmax", op.log_softmax, data, axis, temperature, dtype)


@operator("data", method=True)
def softmin(data, axis=-1, temperature=None, dtype=None, use_length=False):
    """The softmax of -data.

    Args:
        data: floating point, at least one axis.

    Example:
        >>> nd.softmin(nd.array([[0.0, 1.0]])).asnumpy().round(3)
        array([[0.731, 0.269]], dtype=float32)
    """
    _no_length("softmin", use_length)
    return _softmax("softmin", op.softmax, op.neg(data), axis, temperature, dtype)


@operator("data")
def SoftmaxActivation(data, mode="instance"):
    """Softmax over the last axis, or with mode="channel" over axis 1. MXNetError for another mode.

    Args:
        data: floating point, shape (batch, channels, ...).
        mode: "instance": over all of a sample, "channel": over axis 1.

    Example:
        >>> nd.SoftmaxActivation(nd.array([[0.0, 0.0]])).asnumpy()
        array([[0.5, 0.5]], dtype=float32)
    """
    choice("SoftmaxActivation", "mode", mode)
    return op.softmax(data, axis=axis_in("SoftmaxActivation", 1 if mode == "channel" else -1, data.ndim))


def _masked(name: str, f: Callable[..., NDArray], data: NDArray, mask: Any, axis: int, temperature: Any) -> tuple:
    if mask is None:
        return _softmax(name, f, data, axis, temperature, None), None
    try:
        kept = (mask.tensor != 0).expand(data.shape)
    except RuntimeError:
        raise MXNetError(f"{name}: mask of shape {mask.shape} does not broadcast to data's {data.shape}") from None
    low = torch.finfo(data.tensor.dtype).min
    return _softmax(name, f, op.bool_fill(data, NDArray(~kept), value=low), axis, temperature, None), kept


@operator("data, mask?")
def masked_softmax(data, mask=None, axis=-1, temperature=1.0, normalize=True):
    """Softmax over the elements whose mask, which broadcasts to data, is not 0; the others become 0.

    Args:
        data: floating point, at least one axis.

    Example:
        >>> nd.masked_softmax(nd.zeros((1, 3)), nd.array([[1, 1, 0]], dtype="bool")).asnumpy()
        array([[0.5, 0.5, 0. ]], dtype=float32)
    """
    y, kept = _masked("masked_softmax", op.softmax, data, mask, axis, temperature)
    return y if kept is None else op.dropout_mask(y, mask=kept)


@operator("data, mask?")
def masked_log_softmax(data, mask=None, axis=-1, temperature=1.0, normalize=True):
    """The logarithm of `masked_softmax`; -inf where the mask is 0.

    Args:
        data: floating point, at least one axis.

    Example:
        >>> nd.masked_log_softmax(nd.zeros((1, 3)), nd.array([[1, 1, 0]], dtype="bool")).asnumpy().round(3)
        array([[-0.693, -0.693,   -inf]], dtype=float32)
    """
    y, kept = _masked("masked_log_softmax", op.log_softmax, data, mask, axis, temperature)
    return y if kept is None else op.bool_fill(y, NDArray(~kept), value=-math.inf)


# ---- dropout and embedding -------------------------------------------------------------------------------------------
@operator("data", outputs="output, mask?")
def Dropout(data, p=0.5, mode="training", axes=(), cudnn_off=False):
    """Sets each element to 0 with probability `p` and divides the others by 1 - p.

    It does so in training mode, or always with mode="always"; else the result is a copy. `axes`: axes along which all
    elements share one draw. As in MXNet, p = 1 gives NaN, which is 0 divided by 0. MXNetError for p outside [0, 1] and
    for another mode.

    Args:
        data: floating point, any shape.
        mode: "training" drops inside `autograd.train_mode` only, "always" drops everywhere.
        axes: axes along which all elements are kept or dropped together.

    Example:
        >>> nd.Dropout(nd.ones(3), p=0.5).asnumpy()
        array([1., 1., 1.], dtype=float32)
    """
    fraction("Dropout", "p", p)
    if mode != "always" and choice("Dropout", "mode", mode) and not _get_mode("training"):
        return op.copy(data)
    if p == 0:
        return op.copy(data)
    if p == 1:
        return op.mul_scalar(data, value=math.nan)
    if not axes:
        return op.dropout_hashed(data, p=p)
    t = data.tensor
    shared = set(axes_in("Dropout", axes, data.ndim, "axes"))
    sizes = [1 if k in shared else n for k, n in enumerate(data.shape)]
    kept = torch.rand(sizes, device=t.device, generator=generator(t.device)) >= p
    return op.dropout_mask(data, mask=kept.expand(data.shape), scale=1 / (1 - p))


@operator(
    "data, weight",
    plain=(
        "_fits(_fe, data, weight, input_dim, output_dim)",
        "_embedding(weight, _row_numbers(data, input_dim, weight))",
        {"_fits": _C.table_fits, "_fe": fe, "_embedding": op.embedding, "_row_numbers": _C.row_numbers},
    ),
)
def Embedding(data, weight, input_dim=None, output_dim=None, dtype="float32", sparse_grad=False):
    """Looks up rows of `weight` (input_dim, output_dim) by their numbers in `data`: (*data.shape, output_dim).

    Numbers are truncated to whole ones; those outside of the table stand for its first or last row. MXNetError where
    weight has another shape.

    Args:
        data: numbers of rows of `weight`, of any dtype; a number out of range stands for the nearest row.
        weight: shape (input_dim, output_dim).

    Returns:
        NDArray of the dtype of `weight`, shape (*data.shape, output_dim).

    Example:
        >>> nd.Embedding(nd.array([1, 0]), nd.array([[1.0, 2.0], [3.0, 4.0]]), input_dim=2, output_dim=2).asnumpy()
        array([[3., 4.],
               [1., 2.]], dtype=float32)
    """
    if weight.shape != (input_dim, output_dim):
        required("Embedding", "input_dim", input_dim)
        required("Embedding", "output_dim", output_dim)
        require_shape("Embedding", "weight", weight.shape, (input_dim, output_dim))
    if data.__class__ is NDArray:
        return op.embedding(weight, _C.row_numbers(data, input_dim, weight))
    rows = data.tensor.to(torch.int64).clamp(0, input_dim - 1)
    return op.embedding(weight, NDArray(rows))


__all__ = public_names(globals())
