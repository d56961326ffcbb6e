"""Steps of single operators: the functions of torch or of the engine that give their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compatgrad import _C
from compatgrad import ops as op
from compatgrad.core import fixed_layers

from .. import autograd
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from . import _layers
from ._facts import flag
from ._graph import Node
from ._parts import PART
from ._run import run_node

__all__ = ["dense", "run", "simple", "torch_step", "transposed", "view"]

# Those whose results are new arrays that functions of the engine compute from the inputs, without values in between
# that Python would read.
_RECORDED = frozenset("""
    Deconvolution InstanceNorm GroupNorm L2Normalization LRN _contrib_AdaptiveAvgPooling2D UpSampling
    _contrib_BilinearResize2D dot batch_dot Activation LeakyReLU SoftmaxActivation softmax log_softmax sigmoid
    hard_sigmoid tanh softsign exp log sqrt rsqrt square abs negative erf add_n elemwise_add elemwise_sub elemwise_mul
    elemwise_div broadcast_add broadcast_sub broadcast_mul broadcast_div broadcast_maximum broadcast_minimum
    broadcast_power _contrib_div_sqrt_dim _plus_scalar _minus_scalar _rminus_scalar _mul_scalar _div_scalar _rdiv_scalar
    _power_scalar _maximum_scalar _minimum_scalar mean sum max min
""".split())  # fmt: skip
_linear: Callable[..., Any] = _C.op("linear")


def torch_step(name: str, *arguments: Any, overload: str = "") -> Callable[..., torch.Tensor]:
    """An operator of torch as a step; `...` among the arguments stands for the next input."""
    return _C.torch_step(f"aten::{name}", overload, arguments)


def run(node: Node, *inputs: torch.Tensor) -> torch.Tensor:
    """The result of an operator by its function of `mx.nd`."""
    results = run_node(node, [NDArray(x.contiguous()) for x in inputs])
    y: torch.Tensor = results[int(node.attrs.get(PART, 0))].tensor
    return y


def simple(node: Node, inputs: Sequence[torch.Tensor]) -> Callable[..., torch.Tensor] | None:
    """A function of torch with the results of an operator, for inputs in any order of memory; None for others."""
    found = _layers.activation(node)
    if found is not None:
        name, numbers = found
        return torch_step("clamp" if name == "hardtanh" else name, ..., *numbers)
    if node.op == "Pooling" and inputs[0].dim() == 4:
        return _pooling({k: parse(v) for k, v in node.params.items()}, inputs[0])
    if node.op == "UpSampling" and len(inputs) == 1 and node.params.get("sample_type") == "nearest":
        scale = int(parse(node.params["scale"]))
        if scale & (scale - 1) == 0:  # torch divides places by other scales with an error by rounding
            return torch_step("upsample_nearest2d", ..., [n * scale for n in inputs[0].shape[2:]])
    if node.op == "LayerNorm" and not flag(node.params, "output_mean_var"):
        axis = int(parse(node.params.get("axis", "-1")))
        if axis in (-1, inputs[0].dim() - 1):
            return torch_step("layer_norm", ..., inputs[1].shape, ..., ..., float(node.params.get("eps", "1e-5")))
    if node.op == "Concat" and all(x.dim() == 4 for x in inputs):
        return torch_step("cat", [...], int(parse(node.params.get("dim", "1"))))
    return _recorded(node, inputs) if node.op in _RECORDED else None


def view(node: Node, inputs: Sequence[torch.Tensor]) -> Callable[..., torch.Tensor] | None:
    """A function with the results of an operator that moves no numbers, as views where they can be; None for others."""
    p = {k: parse(v) for k, v in node.params.items()}
    if node.op in ("Reshape", "expand_dims", "squeeze", "Flatten"):
        return torch_step("reshape", ..., run(node, *inputs).shape)
    if node.op == "transpose":
        return torch_step("permute", ..., p.get("axes") or tuple(reversed(range(inputs[0].dim()))))
    if node.op == "SliceChannel":
        axis, part = p.get("axis", 1), int(node.attrs[PART])
        size = inputs[0].shape[axis] // p["num_outputs"]
        if size == 1 and p.get("squeeze_axis"):
            return torch_step("select", ..., axis, part, overload="int")
        return torch_step("slice", ..., axis, part * size, (part + 1) * size, overload="Tensor")
    return None


def _pooling(p: dict[str, Any], x: torch.Tensor) -> Callable[..., torch.Tensor] | None:
    kind, first = p.get("pool_type", "max"), p.get("layout") in (None, "NCHW")
    if not first or kind not in ("max", "avg"):
        return None
    if p.get("global_pool"):
        return (
            torch_step("amax", ..., (2, 3), True)
            if kind == "max"
            else torch_step("mean", ..., (2, 3), True, overload="dim")
        )
    kernel, stride, pad = p["kernel"], p.get("stride") or (1, 1), p.get("pad") or (0, 0)
    if p.get("pooling_convention", "valid") != "valid" or any(2 * n > k for n, k in zip(pad, kernel, strict=True)):
        return None  # torch has no such windows
    if kind == "max":
        return fixed_layers.max_pool(x, kernel, stride, pad)
    counted = p.get("count_include_pad") is not False
    return torch_step("avg_pool2d", ..., kernel, stride, pad, False, counted)


def _recorded(node: Node, inputs: Sequence[torch.Tensor]) -> Callable[..., torch.Tensor] | None:
    """The functions of the engine that an operator's function of `mx.nd` calls; None where these do not suffice."""
    arrays = [NDArray(x.contiguous()) for x in inputs]
    for x in arrays:
        x.attach_grad()
    with autograd.record(train_mode=False):
        step = _C.recorded_step(run_node(node, arrays)[0], arrays)
    if step is None:
        return None
    for given in (inputs, [0.5 * x + 0.25 for x in inputs]):
        y, expected = step(*given), run(node, *given)
        if _C.sharing([y], given) >= 0 or not torch.allclose(y, expected, equal_nan=True):
            return None
    return step


def transposed(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    pad: list[int],
    rectify: bool,
) -> torch.Tensor:
    y: torch.Tensor = op.deconvolution(x, weight, bias, stride=stride, pad=pad).tensor
    return y.relu_() if rectify else y


def dense(
    flat: bool, rectify: bool, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """A dense layer with a weight that is not ordered, then relu if `rectify`."""
    rows = x.reshape(x.shape[0], -1) if flat else x.reshape(-1, x.shape[-1])
    y: torch.Tensor = _linear(rows, weight, bias).tensor
    if rectify:
        y.relu_()
    return y if flat else y.view(*x.shape[:-1], -1)
