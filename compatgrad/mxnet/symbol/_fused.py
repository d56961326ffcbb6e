"""Running operators that fuse others, as MXNet writes them into graphs that it quantizes for oneDNN.

`_sg_mkldnn_conv` holds a convolution with what follows it: a batch normalization, an addition, an activation.
`_sg_mkldnn_fully_connected` holds a dense layer. Those that are not quantized run the graph that they hold. They have
no gradients, as in MXNet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from .. import autograd
from ..base import MXNetError
from ..ndarray._bytes import Ends, ends_of, number_of, product_range, saturated, steps_by_unit
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from ._facts import flag
from ._graph import Node, order
from ._loops import _runner
from ._run import LOOPS, run_node

__all__ = ["type_of_result"]

Run = Callable[..., list[NDArray]]


class _Convolution(NamedTuple):
    """What a fused convolution is made of."""

    node: Node
    norm: Node | None
    added: bool
    act: Node | None
    reach: Ends | None  # the range of the results, where it is known before

    @property
    def biased(self) -> bool:
        return not flag(self.node.params, "no_bias")

    def result(self) -> torch.dtype:
        """The type of the results; uint8 where none of them is below 0."""
        if self.reach is None:
            return torch.int32
        return torch.uint8 if self.act is not None and self.act.op != "LeakyReLU" else torch.int8


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
        raise MXNetError(f"{node.name}: {act.op} {kind} of 8-bit numbers is not there; relu, leaky and clip are")
    ends = [node.params.get(k) for k in ("min_calib_range", "max_calib_range")]
    reach = None if "None" in ends or None in ends else (number_of(float(ends[0])), number_of(float(ends[1])))  # type: ignore[arg-type]
    return _Convolution(conv, norm, added is not None, act, reach)


def type_of_result(node: Node) -> str:
    """The type of what a quantized operator gives."""
    if node.op != "_sg_mkldnn_conv":
        return "float32"
    return str(_parts(node).result()).removeprefix("torch.")


def _normalized(
    norm: Node, weight: torch.Tensor, bias: torch.Tensor | None, statistics: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight and the bias of a convolution that gives what the batch normalization would make of its results."""
    gamma, beta, mean, var = statistics
    deviation = (var.double() + float(norm.params.get("eps", 1e-3))).sqrt()
    gamma = torch.ones_like(gamma) if flag(norm.params, "fix_gamma", True) else gamma
    factor = (gamma.double() / deviation).float()
    moved = beta - factor * mean if bias is None else beta + factor * (bias - mean)
    return weight * factor.reshape(-1, *(1,) * (weight.dim() - 1)), moved


def _weight_scales(
    weight: torch.Tensor, bias: torch.Tensor | None, data_scale: torch.Tensor, each: bool
) -> tuple[torch.Tensor, Ends]:
    """How many steps the weight has for each 1, by channel or one for all, and the ends of the weight's range."""
    rows = weight.flatten(1)
    low, high = rows.amin(1).cpu(), rows.amax(1).cpu()
    if not each:
        low, high = low.min(), high.max()
        return steps_by_unit(torch.int8, low, high), (low, high)
    scales = steps_by_unit(torch.int8, low, high)
    if bias is not None:  # which has to stay within half of what int32 has
        b = bias.cpu()
        most = torch.where(b > 0, 2147483648.0, -2147483648.0) / 2 / b / data_scale
        scales = torch.where(b == 0, scales, torch.minimum(scales, most))
    return scales, (low, high)


def _sums(conv: Node, data: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The convolution of 8-bit numbers, exact."""
    plain = Node("Convolution", conv.name, [], {**conv.params, "no_bias": "True"})
    return run_node(plain, [NDArray(data.double()), NDArray(weight.double())])[0].tensor


def _quantized_convolution(node: Node) -> Run:
    """A convolution of 8-bit numbers as oneDNN computes it: whole sums, a factor for each channel, what is added, an
    activation, and one rounding."""
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
            weight, bias = _normalized(parts.norm, weight, bias, [t.float() for t in tensors[count - 4 : count]])
        data_scale = steps_by_unit(data.dtype, *ranges[:2])
        scales, ends = _weight_scales(weight, bias, data_scale, parts.reach is not None)
        by_row = scales.reshape(-1, *(1,) * (weight.dim() - 1)).to(weight.device)
        y = _sums(parts.node, data, saturated(weight * by_row, torch.int8))
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
        if parts.act is not None and parts.act.op != "clip":  # which the ends of uint8 do
            slope = float(parse(parts.act.params.get("slope", "0.25"))) if parts.act.op == "LeakyReLU" else 0.0
            y = torch.where(y > 0, y, y * slope)
        if other is not None and parts.reach is not None:
            # the results are written over what was added, in its type, and read in theirs
            y = saturated(y, other.dtype).view(dtype)
        return [NDArray(saturated(y, dtype)), *ends_of(low, high, xs[0])]

    return run


def _plain(node: Node) -> Run:
    """The graph that the operator holds."""
    run = _runner(node.subgraphs[0])

    def inference(*xs: NDArray) -> list[NDArray]:
        with autograd.pause():
            return run(xs)

    return inference


def _convolution(node: Node) -> Run:
    return _quantized_convolution(node) if flag(node.params, "quantized") else _plain(node)


def _dense(node: Node) -> Run:
    if flag(node.params, "quantized"):
        raise MXNetError(f"{node.name}: a fused dense layer of 8-bit numbers is not there")
    return _plain(node)


LOOPS.update(_sg_mkldnn_conv=_convolution, _sg_mkldnn_fully_connected=_dense)
