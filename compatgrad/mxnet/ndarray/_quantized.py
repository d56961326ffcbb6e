"""Operators of `mx.nd.contrib` for quantized networks: arithmetic on 8-bit numbers.

A quantized array comes with the two ends of its range, arrays of one float32 each. int8 and int32 cover (-r, r), where
r is the larger absolute value of the two ends; uint8 covers (0, r). Gradients are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..base import MXNetError
from ._arguments import (
    as_index,
    axis_in,
    constant,
    dtype_name,
    one_of,
    public_names,
    require_ndim,
    require_shape,
    required,
)
from ._bytes import STEPS, TOPS, Ends, ends_of, number_of, product_range, reach_of, saturated
from ._operator import op, operator
from .ndarray import NDArray
from .nn_convolution import Convolution, Pooling

_TYPES = {"int8": torch.int8, "uint8": torch.uint8}


def _finite(name: str, argument: str, value: Any) -> float:
    """A number among the parameters; MXNetError for all else, infinity and NaN too, which MXNet does not read there."""
    try:
        number = math.nan if isinstance(value, NDArray) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise MXNetError(f"{name}: {argument} must be a finite number, got {value!r}")
    return number


def _calibrated(name: str, low: Any, high: Any) -> Ends | None:
    """The ends of the range that a call gives, if it gives both."""
    given = {"min_calib_range": low, "max_calib_range": high}
    ends = [number_of(_finite(name, k, v)) for k, v in given.items() if v is not None]
    return (ends[0], ends[1]) if len(ends) == 2 else None


def _type_of(name: str, out_type: str, given: Ends | None) -> torch.dtype:
    """The dtype of a result; "auto" is uint8 for a given range without negative numbers."""
    if one_of(name, "out_type", out_type, ("auto", *_TYPES)) == "auto":
        return torch.uint8 if given is not None and given[0] >= 0 else torch.int8
    return _TYPES[out_type]


def _check(name: str, dtypes: Sequence[str] = tuple(_TYPES), **arrays: NDArray) -> None:
    for argument, x in arrays.items():
        if dtype_name(x) not in dtypes:
            raise MXNetError(f"{name}: {argument} must be {' or '.join(dtypes)}, got {dtype_name(x)}")


def _range(name: str, **ends: NDArray | None) -> list[torch.Tensor]:
    """The ends of ranges as numbers, each from an array of one float32."""
    found = []
    for argument, x in ends.items():
        x = required(name, argument, x)
        if x.tensor.dtype != torch.float32 or x.shape != (1,):
            raise MXNetError(f"{name}: {argument} must be float32 of the shape (1,), got {dtype_name(x)} of {x.shape}")
        found.append(number_of(x))
    return found


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
    _check("quantize", ("float32",), data=data)
    dtype = _TYPES[one_of("quantize", "out_type", out_type, tuple(_TYPES))]
    low, high = _range("quantize", min_range=min_range, max_range=max_range)
    reach = reach_of(low, high)
    q = constant(saturated(data.tensor.detach().float() * (number_of(TOPS[dtype]) / reach), dtype), data)
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
    _check("quantize_v2", ("float32", *_TYPES), data=data)
    given, t = _calibrated("quantize_v2", min_calib_range, max_calib_range), data.tensor.detach()
    dtype = _type_of("quantize_v2", out_type, given)
    if t.dtype in _TYPES.values():
        reach = STEPS[t.dtype]
        low, high = given or (-reach if t.dtype == torch.int8 else number_of(0.0), reach)
        return [constant(t.clone().view(dtype), data), *ends_of(low, high, data)]
    low, high = given or _extremes(t)
    reach = reach_of(low, high)
    q = constant(saturated(t.float() * (STEPS[dtype] / reach), dtype), data)
    return [q, *(ends_of(-reach, reach, data) if dtype == torch.int8 else ends_of(low, high, data))]


def _extremes(t: torch.Tensor) -> Ends:
    """The smallest and the largest number, not counting NaN."""
    most = torch.finfo(torch.float32).max
    low, high = t.nan_to_num(most, math.inf, -math.inf).min(), t.nan_to_num(-most, math.inf, -math.inf).max()
    return low.cpu(), high.cpu()


@operator("data", name="_contrib_quantize_asym", outputs="output, scale, shift")
def quantize_asym(data, min_calib_range=None, max_calib_range=None):
    """`data` as uint8 with its own step and offset: the array, 1 / step, and the offset.

    Args:
        data: float32, any shape.

    Returns:
        A list of the integers, the scale and the shift, float32.

    Example:
        >>> nd.contrib.quantize_asym(nd.array([0.0, 1.0]), min_calib_range=0.0, max_calib_range=1.0)[0].asnumpy()
        array([  0, 255], dtype=uint8)
    """
    name, t = "quantize_asym", data.tensor.detach()
    _check(name, ("float32",), data=data)
    low = float(t.min()) if min_calib_range is None else _finite(name, "min_calib_range", min_calib_range)
    high = float(t.max()) if max_calib_range is None else _finite(name, "max_calib_range", max_calib_range)
    scale = 255.0 / (high - low) if high > low else 1.0
    shift = 255.0 - high * scale
    q = (t * scale + shift + 0.5).clamp(0, 255).to(torch.uint8)
    return [constant(q, data), *ends_of(number_of(scale), number_of(shift), data)]


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
    _check("dequantize", (*_TYPES, "int32"), data=data)
    ends = _range("dequantize", min_range=min_range, max_range=max_range)
    return constant(data.tensor.float() * (reach_of(*ends) / STEPS[data.tensor.dtype]), data)


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
    given, t = _calibrated("requantize", min_calib_range, max_calib_range), data.tensor
    dtype = _type_of("requantize", out_type, given)
    _check("requantize", ("int32",), data=data)
    top, whole = STEPS[torch.int32], reach_of(*_range("requantize", min_range=min_range, max_range=max_range))
    reach = reach_of(*given) if given else t.double().abs().max().float().cpu() * whole / top
    q = constant(saturated(t.float() * (whole / top * (number_of(TOPS[dtype]) / reach)), dtype), data)
    return [q, *ends_of(-reach if dtype == torch.int8 else number_of(0.0), reach, data)]


# ---- layers
def _whole(x: NDArray) -> NDArray:
    return NDArray(x.tensor.double())


def _with_bias(name, y, data, bias, ranges, no_bias, axis):
    """Adds the bias, converted to the unit of the sums of products, to them along an axis; with the ends of their
    range.
    """
    ends = _range(name, **dict(zip(_ENDS, ranges[: 4 if no_bias else 6], strict=False)))
    dtype, t, one = data.tensor.dtype, y.tensor, STEPS[torch.int8]
    low, high = product_range(ends[:2], ends[2:4], dtype)
    if not no_bias:
        b = bias.tensor.float()
        if high == 0 and reach_of(*ends[4:]) > 0:  # all products are 0: their unit can be that of the bias
            factor, high = number_of(2**16), reach_of(*ends[4:]) / one / 2**16 * STEPS[torch.int32]
            low, t = -high, torch.zeros_like(t)
        else:
            scale = STEPS[dtype] / reach_of(*ends[:2]) * (one / reach_of(*ends[2:4]))
            factor = scale * reach_of(*ends[4:]) / one
        t = t + (b * factor).trunc().double().reshape(-1, *(1,) * (t.dim() - 1 - axis))
    return [constant(t.to(torch.int32), data), *ends_of(low, high, data)]


_ENDS = ("min_data", "max_data", "min_weight", "max_weight", "min_bias", "max_bias")
# arrays of layers; symbols have the ends of ranges always, with and without a bias
_OF_LAYERS = ("data, weight, bias? unless no_bias, min_data? unless _, max_data? unless _, min_weight? unless _, "
              "max_weight? unless _, min_bias? unless no_bias, max_bias? unless no_bias")  # fmt: skip
_RANGED = "output, min_output, max_output"


def _arranged(name, no_bias, data, weight, bias, ranges):
    """Bias and ranges as arguments, checked: without a bias, positional arguments for the ranges begin one place
    earlier.
    """
    if no_bias and bias is not None and ranges[3] is None:
        bias, ranges = None, [bias, *ranges[:3], None, None]
    _check(name, data=data)
    _check(name, ("int8",), weight=weight)
    given = {"bias": bias, "min_bias": ranges[4], "max_bias": ranges[5]}
    for argument, x in given.items():
        if no_bias and x is not None:
            raise MXNetError(f"{name}: {argument} is given, but no_bias is True")
    if not no_bias:
        _check(name, ("int8",), bias=required(name, "bias", bias))
        require_shape(name, "bias", bias.shape, (weight.shape[0],))
    return bias, ranges


@operator(_OF_LAYERS, name="_contrib_quantized_fully_connected", outputs=_RANGED)
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
    bias, ranges = _arranged(name, no_bias, data, weight, bias, given)
    x = data.tensor.double()
    x = x.reshape(x.shape[0], -1) if flatten else x
    require_shape(name, "weight", weight.shape, (required(name, "num_hidden", num_hidden), x.shape[-1]))
    y = NDArray(x @ weight.tensor.double().t())
    return _with_bias(name, y, data, bias, ranges, no_bias, y.ndim - 1)


@operator(_OF_LAYERS, name="_contrib_quantized_conv", outputs=_RANGED)
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
    bias, ranges = _arranged("quantized_conv", no_bias, data, weight, bias, given)
    y = Convolution(_whole(data), _whole(weight), kernel=kernel, stride=stride, dilate=dilate, pad=pad,
                    num_filter=num_filter, num_group=num_group, no_bias=True, layout=layout)  # fmt: skip
    axis = y.ndim - 1 if layout is not None and layout.endswith("C") else 1
    return _with_bias("quantized_conv", y, data, bias, ranges, no_bias, axis)


@operator("data, min_data, max_data", name="_contrib_quantized_pooling", outputs=_RANGED)
def quantized_pooling(
    data, min_data, max_data, kernel=(), pool_type="max", global_pool=False, cudnn_off=False,
    pooling_convention="valid", stride=(), pad=(), p_value=None, count_include_pad=True, layout=None,
):  # fmt: skip
    """Pooling of 8-bit numbers ("max" or "avg"); their range does not change. Averages that count the padding divide by
    the size of the kernel, also in windows that reach beyond the padding.

    Args:
        data: int8 or uint8, shape (batch, channels, height, width) or (batch, channels, depth, height, width).
        kernel: two or three numbers, also for global pooling.
        layout: "NCHW" or "NCDHW".

    Returns:
        A list of the integers, of the dtype of `data`, and both ends of the range, float32.

    Example:
        >>> x = nd.array([[[[1, 5]]]], dtype="int8")
        >>> nd.contrib.quantized_pooling(x, nd.array([-1.0]), nd.array([1.0]), kernel=(1, 2))[0].asnumpy()
        array([[[[5]]]], dtype=int8)
    """
    name = "quantized_pooling"
    _check(name, data=data)
    _range(name, min_data=min_data, max_data=max_data)
    one_of(name, "pool_type", pool_type, ("max", "avg"))
    one_of(name, "layout", layout, (None, "NCHW", "NCDHW"))
    require_ndim(name, "data", data, 4, 5)
    if len(kernel) != data.ndim - 2:
        raise MXNetError(f"{name}: kernel must have {data.ndim - 2} numbers for data of {data.shape}, got {kernel!r}")
    whole = pool_type == "avg" and count_include_pad and not global_pool
    y = Pooling(_whole(data), kernel=kernel, pool_type="sum" if whole else pool_type, global_pool=global_pool,
                stride=stride, pad=pad, pooling_convention=pooling_convention,
                count_include_pad=count_include_pad).tensor  # fmt: skip
    y = y / math.prod(kernel) if whole else y
    return [constant(y.round().to(data.tensor.dtype), data), min_data, max_data]


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
    _check("quantized_act", data=data)
    _range("quantized_act", min_data=min_data, max_data=max_data)
    return [constant(data.tensor.clamp(min=0), data), min_data, max_data]


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
    _range("quantized_flatten", min_data=min_data, max_data=max_data)
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
    name = "quantized_embedding"
    _check(name, ("int8",), weight=weight)
    rows, columns = (required(name, k, v) for k, v in (("input_dim", input_dim), ("output_dim", output_dim)))
    require_shape(name, "weight", weight.shape, (rows, columns))
    _range(name, min_weight=min_weight, max_weight=max_weight)
    index = as_index(data).clamp(0, weight.shape[0] - 1)
    return [constant(weight.tensor[index], weight), min_weight, max_weight]


def _reaches(name, lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max):
    """The largest absolute values of the ranges of two arrays of one shape."""
    _check(name, lhs=lhs, rhs=rhs)
    require_shape(name, "rhs", rhs.shape, lhs.shape)
    ends = _range(name, lhs_min=lhs_min, lhs_max=lhs_max, rhs_min=rhs_min, rhs_max=rhs_max)
    return [reach_of(*ends[:2]), reach_of(*ends[2:])]


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
    name, arrays = "quantized_elemwise_add", [lhs.tensor, rhs.tensor]
    reaches = _reaches(name, lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max)
    given, alike = _calibrated(name, min_calib_range, max_calib_range), lhs.tensor.dtype == rhs.tensor.dtype
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
    return [constant(saturated(total, dtype), lhs), *ends_of(low, high, lhs)]


@operator(
    "lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max",
    name="_contrib_quantized_elemwise_mul",
    outputs="output, min_output unless enable_float_output, max_output unless enable_float_output",
)
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
    name, dtypes = "quantized_elemwise_mul", (lhs.tensor.dtype, rhs.tensor.dtype)
    reaches = _reaches(name, lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max)
    scales = [STEPS[d] / r for d, r in zip(dtypes, reaches, strict=True)]
    given = _calibrated(name, min_calib_range, max_calib_range)
    y = lhs.tensor.float() * rhs.tensor.float()  # exact
    if enable_float_output:
        return constant(y * number_of(1.0 / float(scales[0]) / float(scales[1])), lhs)
    if given is not None:
        y = y * (STEPS[torch.int8] / reach_of(*given) / scales[0] / scales[1])
        return [constant(saturated(y.trunc(), torch.int8), lhs), *ends_of(*given, lhs)]
    first, second = ((-r, r) for r in reaches)
    return [constant(y.to(torch.int32), lhs), *ends_of(*product_range(first, second, dtypes[1], dtypes[0]), lhs)]


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
    name = "quantized_concat"
    _check(name, **{f"array {i}": x for i, x in enumerate(data[:n])})
    arrays = [x.tensor for x in data[:n]]
    ends = _range(name, **{f"end {i} of array {k}": data[n + 2 * k + i] for k in range(n) for i in (0, 1)})
    dtype = torch.int8 if any(t.dtype == torch.int8 for t in arrays) else torch.uint8
    zero = number_of(0.0)  # NaN among the ends counts for nothing
    low, high = (torch.stack([zero, *(e.nan_to_num(0.0, math.inf, -math.inf) for e in ends[i::2])]) for i in (0, 1))
    low, high = low.min(), high.max()
    scale = STEPS[dtype] / reach_of(low, high)
    scales = [STEPS[t.dtype] / reach_of(a, b) for t, a, b in zip(arrays, ends[::2], ends[1::2], strict=True)]
    parts = [
        t if s == scale and t.dtype == dtype else saturated(t.float() * (scale / s), dtype)
        for t, s in zip(arrays, scales, strict=True)
    ]
    return [constant(torch.cat(parts, int(dim)), data[0]), *ends_of(low, high, data[0])]


@operator(
    "data, gamma, beta, moving_mean, moving_var, min_data, max_data", name="_contrib_quantized_batch_norm",
    outputs=_RANGED, states="moving_mean, moving_var",
)  # fmt: skip
def quantized_batch_norm(
    data, gamma, beta, moving_mean, moving_var, min_data, max_data, eps=1e-3, momentum=0.9, fix_gamma=True,
    use_global_stats=False, output_mean_var=False, axis=1, cudnn_off=False, min_calib_range=None, max_calib_range=None,
):  # fmt: skip
    """BatchNorm of 8-bit numbers by moving statistics, as int8 for the given range. As in MXNet it multiplies by gamma
    whatever `fix_gamma` is.

    Args:
        data: int8 or uint8, shape (batch, channels, ...).
        min_calib_range, max_calib_range: the range, which must be given.

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
    _check(name, data=data)
    axis = axis_in(name, axis, data.ndim)
    low, high = (number_of(_finite(name, n, required(name, n, v)))
                 for n, v in (("min_calib_range", min_calib_range), ("max_calib_range", max_calib_range)))  # fmt: skip
    parameters = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    _check(name, ("float32",), **parameters)
    for argument, x in parameters.items():
        require_shape(name, argument, x.shape, (data.shape[axis],))
    reach, whole = reach_of(*_range(name, min_data=min_data, max_data=max_data)), reach_of(low, high)
    x, (g, b, mean, var) = data.tensor, (v.tensor.detach() for v in parameters.values())
    if x.dtype == torch.uint8:  # oneDNN's operator reads int8
        x = saturated(x.float() * (STEPS[torch.int8] / STEPS[torch.uint8]), torch.int8)
    # as in MXNet: oneDNN normalizes by a variance of 1, which adds eps once more
    inverse = 1.0 / (var + eps).sqrt()
    scale = g * inverse * reach.to(g.device) / whole.to(g.device) / number_of(1.0 + eps).sqrt().to(g.device)
    shift = (b - mean * g * inverse) * STEPS[torch.int8].to(g.device) / whole.to(g.device)
    shape = [-1 if i == axis else 1 for i in range(x.dim())]
    y = x.double() * scale.double().reshape(shape) + shift.double().reshape(shape)  # float64: oneDNN rounds once
    return [
        constant(saturated(y.float().nan_to_num(0.0, math.inf, -math.inf), torch.int8), data),
        *ends_of(low, high, data),
    ]


__all__ = public_names(globals())
