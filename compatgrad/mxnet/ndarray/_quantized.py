"""Operators of `mx.nd.contrib` for quantized networks: arithmetic on 8-bit numbers.

A quantized array comes with the two ends of its range, arrays of one float32 each. int8 and int32 cover (-r, r), where
r is the larger absolute value of the two ends; uint8 covers (0, r). There are no gradients.
"""

from __future__ import annotations

from typing import Any

import torch

from ..base import MXNetError
from ._arguments import as_index, one_of, public_names, required
from ._bytes import STEPS, TOPS, ends_of, number_of, product_range, reach_of, saturated
from ._operator import op, operator
from .ndarray import NDArray
from .nn_convolution import Convolution, Pooling


def _number(x: NDArray) -> float:
    return float(x.tensor.reshape(-1)[0])


def _reach(low: float, high: float) -> float:
    return max(abs(low), abs(high))


def _ends(low: float, high: float, like: NDArray) -> list[NDArray]:
    return ends_of(number_of(low), number_of(high), like)


def _unit(low: NDArray, high: NDArray, dtype: torch.dtype) -> float:
    """The real number for which one integer step of an array stands in products."""
    return _reach(_number(low), _number(high)) / TOPS[dtype]


def _to_int8(t: torch.Tensor, reach: float) -> torch.Tensor:
    scaled = t.float() * (127.0 / reach if reach else 0.0)
    return (torch.sign(scaled) * torch.minimum(scaled.abs() + 0.5, torch.tensor(127.0))).to(torch.int8)


_TYPES = {"int8": torch.int8, "uint8": torch.uint8}


def _calibrated(low: Any, high: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The ends of a range that a call gives; None unless it gives both."""
    return None if low is None or high is None else (number_of(float(low)), number_of(float(high)))


def _type_of(name: str, out_type: str, given: tuple[torch.Tensor, torch.Tensor] | None) -> torch.dtype:
    """The dtype of a result; "auto" is uint8 for a given range without negative numbers."""
    if one_of(name, "out_type", out_type, ("auto", *_TYPES)) == "auto":
        return torch.uint8 if given is not None and given[0] >= 0 else torch.int8
    return _TYPES[out_type]


def _check(name: str, **arrays: NDArray) -> None:
    for argument, x in arrays.items():
        if x.tensor.dtype not in (torch.int8, torch.uint8):
            raise MXNetError(f"{name}: {argument} must be int8 or uint8, got {x.tensor.dtype}")


@operator("data, min_range, max_range", name="_contrib_quantize", outputs=3)
def quantize(data, min_range, max_range, out_type="uint8"):
    """`data` as uint8 or int8 for a range, and the ends of the range that the result covers.

    Args:
        data: float32, any shape.

    Returns:
        A list of the integers and both ends of the range, float32.

    Example:
        >>> q, low, high = nd.contrib.quantize(nd.array([0.0, 1.0]), nd.array([0.0]), nd.array([1.0]))
        >>> q.asnumpy()
        array([  0, 255], dtype=uint8)
    """
    dtype = _TYPES[one_of("quantize", "out_type", out_type, tuple(_TYPES))]
    low, high = number_of(min_range), number_of(max_range)
    reach = reach_of(low, high)
    q = NDArray(saturated(data.tensor.detach().float() * (number_of(TOPS[dtype]) / reach), dtype))
    return [q, *(ends_of(-reach, reach, data) if dtype == torch.int8 else ends_of(low, high, data))]


@operator("data", name="_contrib_quantize_v2", outputs=3)
def quantize_v2(data, out_type="int8", min_calib_range=None, max_calib_range=None):
    """`data` as int8 or uint8, for the given range or its own ("auto": uint8 for a given range of positive numbers).

    Gives the array and the ends of its range, which lie half a step beyond -127 and 127, or beyond 255. Data that are
    int8 or uint8 already are returned unchanged.

    Args:
        data: float32, int8 or uint8, any shape.

    Returns:
        A list of the integers and both ends of the range, float32.

    Example:
        >>> nd.contrib.quantize_v2(nd.array([-1.0, 0.5]), out_type="int8")[0].asnumpy()
        array([-128,   64], dtype=int8)
    """
    given, t = _calibrated(min_calib_range, max_calib_range), data.tensor.detach()
    dtype = _type_of("quantize_v2", out_type, given)
    if t.dtype in _TYPES.values():
        reach = STEPS[t.dtype]
        low, high = given or (-reach if t.dtype == torch.int8 else number_of(0.0), reach)
        return [NDArray(t.clone().view(dtype)), *ends_of(low, high, data)]
    low, high = given or (t.min().float().cpu(), t.max().float().cpu())
    reach = reach_of(low, high)
    q = NDArray(saturated(t.float() * (STEPS[dtype] / reach), dtype))
    return [q, *(ends_of(-reach, reach, data) if dtype == torch.int8 else ends_of(low, high, data))]


@operator("data", name="_contrib_quantize_asym", outputs=3)
def quantize_asym(data, min_calib_range=None, max_calib_range=None):
    """`data` as uint8 with a step and an offset of its own: the array, 1 / step, and the offset.

    Args:
        data: float32, any shape.

    Returns:
        A list of the integers, the scale and the shift, float32.

    Example:
        >>> nd.contrib.quantize_asym(nd.array([0.0, 1.0]), min_calib_range=0.0, max_calib_range=1.0)[0].asnumpy()
        array([  0, 255], dtype=uint8)
    """
    t = data.tensor.detach().float()
    low = float(t.min()) if min_calib_range is None else float(min_calib_range)
    high = float(t.max()) if max_calib_range is None else float(max_calib_range)
    scale = 255.0 / (high - low) if high > low else 1.0
    shift = 255.0 - high * scale
    q = (t * scale + shift + 0.5).clamp(0, 255).to(torch.uint8)
    return [NDArray(q), *_ends(scale, shift, data)]


@operator("data, min_range, max_range", name="_contrib_dequantize")
def dequantize(data, min_range, max_range, out_type="float32"):
    """The float32 numbers that a quantized array stands for.

    Args:
        data: int8 or uint8, any shape.

    Returns:
        float32, of the shape of `data`.

    Example:
        >>> nd.contrib.dequantize(nd.array([127], dtype="int8"), nd.array([-1.0]), nd.array([1.0])).asnumpy()
        array([0.9960785], dtype=float32)
    """
    one_of("dequantize", "out_type", out_type, ("float32",))
    t = data.tensor
    if t.dtype not in STEPS:
        raise MXNetError(f"dequantize: data must be int8, uint8 or int32, got {t.dtype}")
    return NDArray(t.float() * (reach_of(number_of(min_range), number_of(max_range)) / STEPS[t.dtype]))


@operator("data, min_range, max_range", name="_contrib_requantize", outputs=3)
def requantize(data, min_range, max_range, out_type="int8", min_calib_range=None, max_calib_range=None):
    """int32 numbers as int8 or uint8 for the given range, or for the one that they fill, and the ends of that range.

    Args:
        data: int32, any shape.
        out_type: "int8", "uint8" or "auto": uint8 for a given range of positive numbers.

    Returns:
        A list of the integers and both ends of the range, float32.

    Example:
        >>> sums = nd.array([2**30], dtype="int32")
        >>> nd.contrib.requantize(sums, nd.array([-1.0]), nd.array([1.0]))[0].asnumpy()
        array([127], dtype=int8)
    """
    given, t = _calibrated(min_calib_range, max_calib_range), data.tensor
    dtype = _type_of("requantize", out_type, given)
    if t.dtype != torch.int32:
        raise MXNetError(f"requantize: data must be int32, got {t.dtype}")
    top, whole = STEPS[torch.int32], reach_of(number_of(min_range), number_of(max_range))
    reach = reach_of(*given) if given else t.double().abs().max().float().cpu() * whole / top
    q = NDArray(saturated(t.float() * (whole / top * (number_of(TOPS[dtype]) / reach)), dtype))
    return [q, *ends_of(-reach if dtype == torch.int8 else number_of(0.0), reach, data)]


# ---- layers
def _whole(x: NDArray) -> NDArray:
    return NDArray(x.tensor.double())


def _product_range(unit: float, like: NDArray) -> list[NDArray]:
    return _ends(-unit * 2147483648.0, unit * 2147483647.0, like)


def _with_bias(name, y, data, weight, bias, ranges, no_bias):
    """Adds the bias, converted to the unit of the sums of products, to them; with the ends of their range."""
    ends = [number_of(required(name, n, v)) for n, v in zip(_ENDS, ranges[: 4 if no_bias else 6], strict=False)]
    dtype, t = data.tensor.dtype, y.tensor
    if not no_bias:
        one = STEPS[torch.int8]
        scale = STEPS[dtype] / reach_of(*ends[:2]) * (one / reach_of(*ends[2:4]))
        factor = scale * reach_of(*ends[4:]) / one
        t = t + (bias.tensor.float() * factor).trunc().double().reshape(1, -1, *(1,) * (t.dim() - 2))
    return [NDArray(t.to(torch.int32)), *ends_of(*product_range(ends[:2], ends[2:4], dtype), data)]


_ENDS = ("min_data", "max_data", "min_weight", "max_weight", "min_bias", "max_bias")
_RANGES = "min_data?, max_data?, min_weight?, max_weight?, min_bias?, max_bias?"
_RANGED = "output, min_output, max_output"


def _arranged(no_bias: bool, bias: Any, ranges: list[Any]) -> tuple[Any, list[Any]]:
    """Bias and ranges as arguments: without a bias, positional arguments for the ranges begin one place earlier."""
    if no_bias and bias is not None and ranges[3] is None:
        return None, [bias, *ranges[:3], None, None]
    return bias, ranges


@operator(f"data, weight, bias?, {_RANGES}", name="_contrib_quantized_fully_connected", outputs=_RANGED)
def quantized_fully_connected(
    data, weight, bias=None, min_data=None, max_data=None, min_weight=None, max_weight=None, min_bias=None,
    max_bias=None, num_hidden=None, no_bias=False, flatten=True,
):  # fmt: skip
    """FullyConnected of 8-bit numbers: int32 sums, and the ends of the range that they stand for.

    Args:
        data: int8 or uint8, shape (batch, ...).
        weight: int8, shape (num_hidden, number of inputs).
        bias: int8, shape (num_hidden,).

    Returns:
        A list of the sums, int32, and both ends of the range, float32.

    Example:
        >>> x, w = nd.array([[1, 2]], dtype="int8"), nd.array([[3, 4]], dtype="int8")
        >>> ends = [nd.array([v]) for v in (-1.0, 1.0, -1.0, 1.0)]
        >>> nd.contrib.quantized_fully_connected(x, w, None, *ends, num_hidden=1, no_bias=True)[0].asnumpy()
        array([[11]], dtype=int32)
    """
    name = "quantized_fully_connected"
    given = [min_data, max_data, min_weight, max_weight, min_bias, max_bias]
    bias, ranges = _arranged(no_bias, bias, given)
    _check(name, data=data, weight=weight)
    x = data.tensor.double()
    x = x.reshape(x.shape[0], -1) if flatten else x
    y = NDArray(x @ weight.tensor.double().t())
    if y.ndim > 2 and not no_bias:
        raise MXNetError(f"{name}: a bias needs flatten=True")
    return _with_bias(name, y, data, weight, bias, ranges, no_bias)


@operator(f"data, weight, bias?, {_RANGES}", name="_contrib_quantized_conv", outputs=_RANGED)
def quantized_conv(
    data, weight, bias=None, min_data=None, max_data=None, min_weight=None, max_weight=None, min_bias=None,
    max_bias=None, kernel=None, stride=(), dilate=(), pad=(), num_filter=None, num_group=1, workspace=1024,
    no_bias=False, cudnn_tune=None, cudnn_off=False, layout=None,
):  # fmt: skip
    """Convolution of 8-bit numbers: int32 sums, and the ends of the range that they stand for.

    Args:
        data: int8 or uint8, shape (batch, channels, height, width).
        weight: int8, shape (num_filter, channels / num_group, *kernel).
        bias: int8, shape (num_filter,).

    Returns:
        A list of the sums, int32, and both ends of the range, float32.

    Example:
        >>> x, w = nd.ones((1, 1, 2, 2), dtype="int8"), nd.ones((1, 1, 2, 2), dtype="int8")
        >>> ends = [nd.array([v]) for v in (-1.0, 1.0, -1.0, 1.0)]
        >>> nd.contrib.quantized_conv(x, w, None, *ends, kernel=(2, 2), num_filter=1, no_bias=True)[0].asnumpy()
        array([[[[4]]]], dtype=int32)
    """
    given = [min_data, max_data, min_weight, max_weight, min_bias, max_bias]
    bias, ranges = _arranged(no_bias, bias, given)
    _check("quantized_conv", data=data, weight=weight)
    y = Convolution(_whole(data), _whole(weight), kernel=kernel, stride=stride, dilate=dilate, pad=pad,
                    num_filter=num_filter, num_group=num_group, no_bias=True, layout=layout)  # fmt: skip
    return _with_bias("quantized_conv", y, data, weight, bias, ranges, no_bias)


@operator("data, min_data, max_data", name="_contrib_quantized_pooling", outputs=_RANGED)
def quantized_pooling(
    data, min_data, max_data, kernel=(), pool_type="max", global_pool=False, cudnn_off=False,
    pooling_convention="valid", stride=(), pad=(), p_value=None, count_include_pad=True, layout=None,
):  # fmt: skip
    """Pooling of 8-bit numbers ("max" or "avg"); their range does not change.

    Args:
        data: int8 or uint8, shape (batch, channels, height, width).

    Returns:
        A list of the integers, of the dtype of `data`, and both ends of the range, float32.

    Example:
        >>> x = nd.array([[[[1, 5]]]], dtype="int8")
        >>> nd.contrib.quantized_pooling(x, nd.array([-1.0]), nd.array([1.0]), kernel=(1, 2))[0].asnumpy()
        array([[[[5]]]], dtype=int8)
    """
    _check("quantized_pooling", data=data)
    one_of("quantized_pooling", "pool_type", pool_type, ("max", "avg"))
    y = Pooling(_whole(data), kernel=kernel, pool_type=pool_type, global_pool=global_pool, stride=stride, pad=pad,
                pooling_convention=pooling_convention, count_include_pad=count_include_pad)  # fmt: skip
    return [NDArray(y.tensor.round().to(data.tensor.dtype)), min_data, max_data]


@operator("data, min_data, max_data", name="_contrib_quantized_act", outputs=_RANGED)
def quantized_act(data, min_data, max_data, act_type=None):
    """relu of 8-bit numbers; their range does not change.

    Args:
        data: int8, any shape.
        act_type: "relu".

    Returns:
        A list of the integers and both ends of the range, float32.

    Example:
        >>> x = nd.array([-3, 5], dtype="int8")
        >>> nd.contrib.quantized_act(x, nd.array([-1.0]), nd.array([1.0]), act_type="relu")[0].asnumpy()
        array([0, 5], dtype=int8)
    """
    one_of("quantized_act", "act_type", act_type, ("relu",))
    return [NDArray(data.tensor.clamp(min=0)), min_data, max_data]


@operator("data, min_data, max_data", name="_contrib_quantized_flatten", outputs=_RANGED)
def quantized_flatten(data, min_data, max_data):
    """The array with all axes after the first merged into one; its range does not change.

    Args:
        data: int8 or uint8, at least one axis.

    Returns:
        A list of the integers and both ends of the range, float32.

    Example:
        >>> x = nd.ones((1, 2, 3), dtype="int8")
        >>> nd.contrib.quantized_flatten(x, nd.array([-1.0]), nd.array([1.0]))[0].shape
        (1, 6)
    """
    return [op.reshape(data, shape=(data.shape[0], -1)), min_data, max_data]


@operator("data, weight, min_weight, max_weight", name="_contrib_quantized_embedding", outputs=_RANGED)
def quantized_embedding(
    data, weight, min_weight, max_weight, input_dim=None, output_dim=None, dtype="float32", sparse_grad=False
):
    """Rows of an 8-bit weight; its range does not change.

    Args:
        data: rows of `weight`, of any dtype.
        weight: int8, shape (input_dim, output_dim).

    Returns:
        A list of the rows, int8, and both ends of the range, float32.

    Example:
        >>> w = nd.array([[1, 2], [3, 4]], dtype="int8")
        >>> ends = nd.array([-1.0]), nd.array([1.0])
        >>> nd.contrib.quantized_embedding(nd.array([1]), w, *ends, input_dim=2, output_dim=2)[0].asnumpy()
        array([[3, 4]], dtype=int8)
    """
    index = as_index(data).clamp(0, weight.shape[0] - 1)
    return [NDArray(weight.tensor[index]), min_weight, max_weight]


def _real(x: NDArray, low: NDArray, high: NDArray) -> torch.Tensor:
    return x.tensor.double() * _unit(low, high, x.tensor.dtype)


@operator("lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max", name="_contrib_quantized_elemwise_add", outputs=_RANGED)
def quantized_elemwise_add(
    lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max, min_calib_range=None, max_calib_range=None
):  # fmt: skip
    """Sums of 8-bit numbers: int32 for the range of all possible sums, or 8-bit for the given range.

    Args:
        lhs: int8 or uint8, any shape.
        rhs: of the shape of `lhs`.
        min_calib_range, max_calib_range: the range; sums are of the dtype of both arrays then, int8 where they differ.

    Returns:
        A list of the sums and both ends of the range, float32.

    Example:
        >>> x, y = nd.array([127], dtype="int8"), nd.array([127], dtype="int8")
        >>> ends = [nd.array([v]) for v in (-1.0, 1.0, -1.0, 1.0)]
        >>> [v.shape for v in nd.contrib.quantized_elemwise_add(x, y, *ends)]
        [(1,), (1,), (1,)]
    """
    _check("quantized_elemwise_add", lhs=lhs, rhs=rhs)
    arrays = [lhs.tensor, rhs.tensor]
    reaches = [reach_of(number_of(a), number_of(b)) for a, b in ((lhs_min, lhs_max), (rhs_min, rhs_max))]
    given, alike = _calibrated(min_calib_range, max_calib_range), lhs.tensor.dtype == rhs.tensor.dtype
    if given is None:
        dtype, high = torch.int32, reaches[0] + reaches[1]
        low = -high
        factors = [r * STEPS[dtype] / (high * STEPS[x.dtype]) for x, r in zip(arrays, reaches, strict=True)]
    else:
        dtype, (low, high) = arrays[0].dtype if alike else torch.int8, given
        scale = STEPS[dtype] / reach_of(low, high)
        factors = [scale / (STEPS[x.dtype] / r) for x, r in zip(arrays, reaches, strict=True)]
    if given is not None and not alike:  # uint8 becomes int8 before the addition
        k = int(arrays[1].dtype == torch.uint8)
        arrays[k], factors[k] = saturated(arrays[k].float() * factors[k], dtype), number_of(1.0)
    total = arrays[0].float() * factors[0] + arrays[1].float() * factors[1]
    return [NDArray(saturated(total, dtype)), *ends_of(low, high, lhs)]


@operator("lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max", name="_contrib_quantized_elemwise_mul", outputs=_RANGED)
def quantized_elemwise_mul(
    lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max, min_calib_range=None, max_calib_range=None,
    enable_float_output=False,
):  # fmt: skip
    """Products of 8-bit numbers: int32, int8 for the given range, or float32.

    Args:
        lhs: int8, any shape.
        rhs: of the shape of `lhs`.

    Returns:
        A list of the products, int32, and both ends of the range, float32.

    Example:
        >>> x, y = nd.array([12], dtype="int8"), nd.array([10], dtype="int8")
        >>> ends = [nd.array([v]) for v in (-1.0, 1.0, -1.0, 1.0)]
        >>> nd.contrib.quantized_elemwise_mul(x, y, *ends)[0].asnumpy()
        array([120], dtype=int32)
    """
    _check("quantized_elemwise_mul", lhs=lhs, rhs=rhs)
    unit = _unit(lhs_min, lhs_max, lhs.tensor.dtype) * _unit(rhs_min, rhs_max, rhs.tensor.dtype)
    y = lhs.tensor.double() * rhs.tensor.double()
    if enable_float_output:
        return NDArray((y * unit).float())
    if min_calib_range is not None and max_calib_range is not None:
        reach = _reach(float(min_calib_range), float(max_calib_range))
        return [NDArray(_to_int8(y * unit, reach)), *_ends(-reach, reach, lhs)]
    return [NDArray(y.to(torch.int32)), *_product_range(unit, lhs)]


@operator("*data", name="_contrib_quantized_concat", outputs=_RANGED)
def quantized_concat(data, num_args=None, dim=1):
    """8-bit arrays, followed by their lower and upper ends in turn, joined along an axis in the widest range.

    Args:
        data: arrays of int8 or uint8, then their lower and upper ends in turn.

    Returns:
        A list of the integers and both ends of the range, float32.

    Example:
        >>> x, ends = nd.array([[1]], dtype="int8"), [nd.array([v]) for v in (-1.0, 1.0, -1.0, 1.0)]
        >>> nd.contrib.quantized_concat(x, x, *ends, num_args=2, dim=1)[0].asnumpy()
        array([[1, 1]], dtype=int8)
    """
    n = len(data) // 3
    if n < 1 or len(data) != 3 * n:
        raise MXNetError(f"quantized_concat: expected arrays and two ends for each, got {len(data)} arrays")
    arrays, ends = [x.tensor for x in data[:n]], [number_of(x) for x in data[n:]]
    dtype = torch.int8 if any(t.dtype == torch.int8 for t in arrays) else torch.uint8
    low, high = torch.stack([*ends[::2], number_of(0.0)]).min(), torch.stack([*ends[1::2], number_of(0.0)]).max()
    scale = STEPS[dtype] / reach_of(low, high)
    scales = [STEPS[t.dtype] / reach_of(a, b) for t, a, b in zip(arrays, ends[::2], ends[1::2], strict=True)]
    parts = [saturated(t.float() * (scale / s), dtype) for t, s in zip(arrays, scales, strict=True)]
    return [NDArray(torch.cat(parts, int(dim))), *ends_of(low, high, data[0])]


@operator(
    "data, gamma, beta, moving_mean, moving_var, min_data, max_data", name="_contrib_quantized_batch_norm",
    outputs=_RANGED,
)  # fmt: skip
def quantized_batch_norm(
    data, gamma, beta, moving_mean, moving_var, min_data, max_data, eps=1e-3, momentum=0.9, fix_gamma=True,
    use_global_stats=False, output_mean_var=False, axis=1, cudnn_off=False, min_calib_range=None, max_calib_range=None,
):  # fmt: skip
    """BatchNorm of 8-bit numbers by moving statistics, as int8 for the given range.

    Args:
        data: int8, shape (batch, channels, ...).

    Returns:
        A list of the integers and both ends of the range, float32.

    Example:
        >>> x, one, zero = nd.ones((1, 1, 1, 2), dtype="int8"), nd.ones(1), nd.zeros(1)
        >>> options = {"min_calib_range": -1.0, "max_calib_range": 1.0, "fix_gamma": False}
        >>> y = nd.contrib.quantized_batch_norm(x, one, zero, zero, one, nd.array([-1.0]), nd.array([1.0]), **options)
        >>> y[0].asnumpy()
        array([[[[1, 1]]]], dtype=int8)
    """
    name = "quantized_batch_norm"
    low, high = (float(required(name, n, v)) for n, v in (("min_calib_range", min_calib_range),
                                                          ("max_calib_range", max_calib_range)))  # fmt: skip
    shape = [1] * data.ndim
    shape[axis] = -1
    g, b, m, v = (x.tensor.double().reshape(shape) for x in (gamma, beta, moving_mean, moving_var))
    scale = (1.0 if fix_gamma else g) / (v + eps).sqrt()
    y = (_real(data, min_data, max_data) - m) * scale + b
    reach = _reach(low, high)
    return [NDArray(_to_int8(y, reach)), *_ends(-reach, reach, data)]


__all__ = public_names(globals())
