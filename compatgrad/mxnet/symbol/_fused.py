"""Runs the fused operators that MXNet writes into graphs which it quantizes for oneDNN.

`_sg_mkldnn_conv` holds the graph of a convolution and its followers: batch normalization, addition, activation.
`_sg_mkldnn_fully_connected` holds that of a dense layer and an activation. Operators that are not quantized run the
graph that they hold. As in MXNet, none has a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from .. import autograd
from ..base import MXNetError
from ..ndarray._bytes import Ends, ends_of, number_of, product_range, reach_of, saturated, steps_by_unit
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from ._facts import flag
from ._graph import Node, order
from ._loops import _runner
from ._run import LOOPS, run_node

__all__ = ["normalized", "type_of_result"]

Run = Callable[..., list[NDArray]]


class _Convolution(NamedTuple):
    """The parts of a fused convolution."""

    node: Node
    norm: Node | None
    added: bool
    act: Node | None
    reach: Ends | None  # the range of the results from a calibration, or None

    @property
    def biased(self) -> bool:
        return not flag(self.node.params, "no_bias")

    def result(self) -> torch.dtype:
        """The dtype of the results, uint8 if none of them is negative."""
        if self.reach is None:
            return torch.int32
        return torch.uint8 if self.act is not None and self.act.op != "LeakyReLU" else torch.int8


def _range_of(node: Node) -> Ends | None:
    """The range of the results from the operator's parameters, or None."""
    low, high = (parse(node.params.get(k)) for k in ("min_calib_range", "max_calib_range"))
    return None if low is None or high is None else (number_of(low), number_of(high))


def _parts(node: Node) -> _Convolution:
    """The parts of a quantized convolution; MXNetError for one that MXNet does not make."""
    found = {n.op: n for n in order(node.subgraphs[0]) if n.op is not None}
    conv, norm, added = (found.pop(op, None) for op in ("Convolution", "BatchNorm", "elemwise_add"))
    act = next(iter(found.values()), None)
    if conv is None or len(found) > 1:
        raise MXNetError(f"{node.name}: expected a convolution and at most one activation, got {sorted(found)}")
    kind = act.params.get("act_type", "leaky") if act is not None else "leaky"
    known = {"Activation": ("relu",), "LeakyReLU": ("leaky",), "clip": ("leaky",)}
    if act is not None and kind not in known.get(act.op or "", ()):
        raise MXNetError(f"{node.name}: {act.op} {kind} of 8-bit numbers is not supported; relu, leaky and clip are")
    return _Convolution(conv, norm, added is not None, act, _range_of(node))


def type_of_result(node: Node) -> str:
    """The dtype of a quantized operator's result."""
    dtype = _parts(node).result() if node.op == "_sg_mkldnn_conv" else _dense_result(node)
    return str(dtype).removeprefix("torch.")


def normalized(
    norm: Node, weight: torch.Tensor, bias: torch.Tensor | None, statistics: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Folds a batch normalization into the weight and the bias of the convolution before it."""
    gamma, beta, mean, var = statistics
    deviation = (var.double() + float(norm.params.get("eps", 1e-3))).sqrt()
    gamma = torch.ones_like(gamma) if flag(norm.params, "fix_gamma", True) else gamma
    factor = (gamma.double() / deviation).float()
    moved = beta - factor * mean if bias is None else beta + factor * (bias - mean)
    return weight * factor.reshape(-1, *(1,) * (weight.dim() - 1)), moved


def _weight_scales(
    weight: torch.Tensor, bias: torch.Tensor | None, data_scale: torch.Tensor, each: bool
) -> tuple[torch.Tensor, Ends]:
    """The number of int8 steps for each 1 of the weight, for each channel or for all, and the ends of its range."""
    rows = weight.flatten(1)
    most = torch.finfo(rows.dtype).max  # NaN takes no part in the range
    low = rows.nan_to_num(most, math.inf, -math.inf).amin(1).cpu()
    high = rows.nan_to_num(-most, math.inf, -math.inf).amax(1).cpu()
    if not each:
        low, high = low.min(), high.max()
        return steps_by_unit(torch.int8, low, high), (low, high)
    scales = steps_by_unit(torch.int8, low, high)
    if bias is not None:  # the bias, in units of the sums, must stay within half the range of int32
        b = bias.cpu()
        most = torch.where(b > 0, 2147483648.0, -2147483648.0) / 2 / b / data_scale
        scales = torch.where(b == 0, scales, torch.minimum(scales, most))
    return scales, (low, high)


def _sums(conv: Node, data: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The convolution of 8-bit numbers, exact, as float64.

    On a CPU, float32 is faster; its sums are exact up to 2^24. Where a sum could be larger, the two halves of the
    channels are convolved separately. On a GPU, float32 is not used, because TF32 may reduce its precision.
    """
    largest = -torch.iinfo(data.dtype).min or torch.iinfo(data.dtype).max
    fits = largest * float(weight.short().abs().flatten(1).sum(1, dtype=torch.float64).max()) <= 2**24
    half = weight.shape[1] // 2
    if not fits and half and not data.is_cuda and data.shape[1] == weight.shape[1]:
        parts = ((data[:, :half], weight[:, :half]), (data[:, half:], weight[:, half:]))
        first, second = (_sums(conv, x.contiguous(), w.contiguous()) for x, w in parts)
        return first + second
    dtype = torch.float32 if fits and not data.is_cuda else torch.float64
    plain = Node("Convolution", conv.name, [], {**conv.params, "no_bias": "True"})
    return run_node(plain, [NDArray(data.to(dtype)), NDArray(weight.to(dtype))])[0].tensor.double()


def _quantized_convolution(node: Node) -> Run:
    """A convolution of 8-bit numbers as oneDNN computes it: integer sums, a factor for each channel, the addition, an
    activation, and one rounding.
    """
    parts = _parts(node)

    def run(*xs: NDArray) -> list[NDArray]:
        count = 2 + parts.biased + 4 * (parts.norm is not None)
        tensors = [x.tensor.detach() for x in xs]
        data, weight = tensors[0], tensors[1].float()
        bias = tensors[2].float() if parts.biased else None
        other = tensors[count] if parts.added else None
        ranges = [number_of(x) for x in xs[count + parts.added :]]
        for name, t in (("data", data), ("sum", other)):
            if t is not None and t.dtype not in (torch.int8, torch.uint8):
                raise MXNetError(f"{name} must be int8 or uint8, got {t.dtype}")
        if ranges[0] < 0 and data.dtype != torch.int8:
            raise MXNetError(f"data of a range that begins at {float(ranges[0]):g} must be int8, got uint8")
        if parts.norm is not None:
            weight, bias = normalized(parts.norm, weight, bias, [t.float() for t in tensors[count - 4 : count]])
        data_scale = steps_by_unit(data.dtype, *ranges[:2])
        scales, ends = _weight_scales(weight, bias, data_scale, parts.reach is not None)
        by_row = scales.reshape(-1, *(1,) * (weight.dim() - 1)).to(weight.device)
        weight = weight * by_row
        if data.dtype == torch.int8:  # where oneDNN makes -128 of NaN
            weight = weight.nan_to_num(-math.inf, math.inf, -math.inf)
        y = _sums(parts.node, data, saturated(weight, torch.int8))
        channels = (-1, *(1,) * (y.dim() - 2))
        shift = None
        if bias is not None:
            shift = saturated(bias * (scales * data_scale).to(bias.device), torch.int32).reshape(channels)
        if parts.reach is None:
            low, high = product_range(ends, (ranges[0], ranges[1]), data.dtype)
            output_scale = data_scale * scales
            y = y if shift is None else y + shift
        else:
            low, high = parts.reach
            output_scale = steps_by_unit(parts.result(), low, high)
            y = y.float() if shift is None else y.float() + shift.float()
            y = y * (output_scale / data_scale / scales).reshape(channels).to(y.device)
        dtype = parts.result()
        if other is not None:
            factor = output_scale / steps_by_unit(other.dtype, *ranges[2:])
            y = (y.double() + other.double() * factor.double()).float()
        if parts.act is not None and parts.act.op != "clip":  # the range of uint8 clips already
            slope = float(parse(parts.act.params.get("slope", "0.25"))) if parts.act.op == "LeakyReLU" else 0.0
            y = torch.where(y > 0, y, y * slope)
        if other is not None and parts.reach is not None:
            # as in MXNet, results overwrite the added array in its dtype, and are then read in their own dtype
            y = saturated(y, other.dtype).view(dtype)
        return [NDArray(saturated(y, dtype)), *ends_of(low, high, xs[0])]

    return run


def _plain(node: Node) -> Run:
    """A function that runs the graph that the operator holds."""
    run = _runner(node.subgraphs[0])

    def inference(*xs: NDArray) -> list[NDArray]:
        with autograd.pause():
            return run(xs)

    return inference


def _convolution(node: Node) -> Run:
    return _quantized_convolution(node) if flag(node.params, "quantized") else _plain(node)


def _dense_parts(node: Node) -> tuple[Node, Node | None]:
    """The dense layer of a fused operator, and the operator after it, or None."""
    layer, *rest = (n for n in order(node.subgraphs[0]) if n.op is not None)
    return layer, rest[0] if rest else None


def _dense_result(node: Node) -> torch.dtype:
    """The dtype of a dense layer's results. As in MXNet it is uint8 after "leaky", so that negative ones are lost."""
    if flag(node.params, "enable_float_output"):
        return torch.float32
    if _range_of(node) is None:
        return torch.int32
    act = _dense_parts(node)[1]
    signed = act is None or act.params.get("act_type") in ("tanh", "elu", "gelu")
    return torch.int8 if signed else torch.uint8


def _quantized_dense(node: Node) -> Run:
    """A dense layer of 8-bit numbers: integer sums, a factor, an activation of the real numbers, and one rounding. The
    weight is int8 with a range, or float32, which is quantized here with a scale for each row.
    """
    layer, act = _dense_parts(node)
    if flag(node.params, "channel_wise_quantize") and _dense_result(node) == torch.int32:
        raise MXNetError(f"{node.name}: channel_wise_quantize needs the range of the results, or enable_float_output")
    biased, flat = not flag(layer.params, "no_bias"), flag(layer.params, "flatten", True)
    by_row, dtype, given = flag(node.params, "channel_wise_quantize"), _dense_result(node), _range_of(node)

    def run(*xs: NDArray) -> list[NDArray]:
        data, weight, *rest = (x.tensor.detach() for x in xs)
        if data.dtype not in (torch.int8, torch.uint8):
            raise MXNetError(f"data must be int8 or uint8, got {data.dtype}")
        ends = [number_of(x) for x in xs[2 + biased :]]
        data_scale = steps_by_unit(data.dtype, *ends[:2])
        if by_row:
            bias = rest[0].float() if biased else None
            scale, _ = _weight_scales(weight.float(), bias, data_scale, True)
            weight = saturated(weight.float() * scale[:, None].to(weight.device), torch.int8)
            shift = None if bias is None else saturated(bias * (scale * data_scale).to(bias.device), torch.int32)
        else:
            scale = steps_by_unit(torch.int8, *ends[2:4])
            shift = None
            if biased:
                shift, weight, scale = _dense_bias(rest[0], weight, data_scale, scale, (ends[4], ends[5]))
        x = data.flatten(1) if flat else data
        y = x.double() @ weight.double().t()
        if dtype == torch.int32:
            y = y if shift is None else y + shift
            if act is not None:  # of the integers, as in MXNet
                y = run_node(act, [NDArray(y.float())])[0].tensor
            low, high = product_range((ends[0], ends[1]), (ends[2], ends[3]), data.dtype)
            return [NDArray(saturated(y, dtype)), *ends_of(low, high, xs[0])]
        y = y.float() if shift is None else y.float() + shift.float()
        whole = number_of(1.0) if given is None or dtype == torch.float32 else steps_by_unit(dtype, *given)
        first = (number_of(1.0) if act is not None else whole) / data_scale
        y = y * (first / scale).to(y.device)
        if act is not None:
            y = run_node(act, [NDArray(y)])[0].tensor * whole
        if dtype == torch.float32:
            return [NDArray(y)]
        assert given is not None
        return [NDArray(saturated(y, dtype)), *ends_of(*given, xs[0])]

    return run


def _dense_bias(
    bias: torch.Tensor, weight: torch.Tensor, data_scale: torch.Tensor, scale: torch.Tensor, ends: Ends
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """An int8 bias in the unit of the sums, the weight and its scale. The scale is reduced where the bias would exceed
    half the range of int32.
    """
    own = steps_by_unit(torch.int8, *ends)
    factor = data_scale * scale / own
    most = number_of(1073741823.0) / reach_of(*ends) / own
    if factor > most:
        part = most * own / data_scale / scale
        factor, weight, scale = most, _away(weight.float() * part), scale * part
    return _away(bias.float() * factor), weight, scale


def _away(t: torch.Tensor) -> torch.Tensor:
    """Rounds to whole numbers, halves away from 0."""
    return t.sign() * (t.double().abs() + 0.5).floor()


def _dense(node: Node) -> Run:
    return _quantized_dense(node) if flag(node.params, "quantized") else _plain(node)


LOOPS.update(_sg_mkldnn_conv=_convolution, _sg_mkldnn_fully_connected=_dense)
