"""Which loops of a tape compute which ATen functions. A rule returns None if its loops do not fit the arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from compatgrad.exporting._tape import MAX, SUM

__all__ = ["RULES"]

aten = torch.ops.aten
# Of the lowering, a node and its result without values; the place of the result, or None.
Rule = Callable[[Any, Any, torch.Tensor], Any]
RULES: dict[Any, Rule] = {}


def _rule(*ops: Any) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, rule))
        return rule

    return add


def _argument(node: Any, k: int, name: str, default: Any) -> Any:
    return node.args[k] if len(node.args) > k else node.kwargs.get(name, default)


def _computed(tape: Any, node: Any, like: torch.Tensor) -> float | None:
    """The result if all tensors in the arguments have one known number each."""
    args = []
    for x in node.args:
        if isinstance(x, fx.Node):
            value = tape.known(x)
            if value is None:
                return None
            args.append(torch.tensor(value, dtype=x.meta["val"].dtype))
        else:
            args.append(x)
    return float(node.target(*args, **node.kwargs))


def _map_rule(function: str, ops: Any, mask: bool = False, numbers: bool = True) -> None:
    def rule(tape: Any, node: Any, like: torch.Tensor) -> Any:
        if node.kwargs:
            return None
        if numbers and like.dtype == tape.dtype and (value := _computed(tape, node, like)) is not None:
            return tape.number(value, like)
        return tape.map(function, like, node.args, mask=mask)

    for op in ops:
        RULES[op] = rule


for _name in ("abs", "exp", "tanh", "sigmoid", "relu", "sqrt", "rsqrt", "reciprocal", "erf"):
    _map_rule(_name, [getattr(aten, _name).default])
_map_rule("mul", [aten.mul.Tensor, aten.mul.Scalar])
_map_rule("div", [aten.div.Tensor, aten.div.Scalar])
_map_rule("maximum", [aten.maximum.default])
_map_rule("minimum", [aten.minimum.default])
_map_rule("tanh_grad", [aten.tanh_backward.default])
_map_rule("sigmoid_grad", [aten.sigmoid_backward.default])
for _name in ("gt", "ge", "lt", "le", "eq", "ne"):
    _map_rule(_name, [getattr(aten, _name).Tensor, getattr(aten, _name).Scalar], mask=True, numbers=False)


@_rule(aten.neg.default)
def _neg(tape: Any, node: Any, like: torch.Tensor) -> Any:
    if (value := _computed(tape, node, like)) is not None:
        return tape.number(value, like)
    return tape.map("mul", like, [node.args[0], -1.0])  # exact, and joined with other products by numbers


@_rule(aten.add.Tensor, aten.add.Scalar, aten.sub.Tensor, aten.sub.Scalar)
def _add(tape: Any, node: Any, like: torch.Tensor) -> Any:
    if like.dtype != tape.dtype:
        return None
    alpha = float(_argument(node, 2, "alpha", 1))
    if (value := _computed(tape, node, like)) is not None:
        return tape.number(value, like)
    a, b = node.args[:2]
    sign = -1.0 if node.target in (aten.sub.Tensor, aten.sub.Scalar) else 1.0
    if alpha != 1:
        return tape.map("add_scaled", like, [a, b], sign * alpha)
    if tape.known(b) == 0 and sign * math.copysign(1, tape.known(b)) < 0 and _is_like(a, like):
        return tape.places.get(a)  # x - 0 is x
    return tape.map("add" if sign > 0 else "sub", like, [a, b])


def _is_like(a: Any, like: torch.Tensor) -> bool:
    if not isinstance(a, fx.Node):
        return False
    t = a.meta["val"]
    return bool(t.shape == like.shape and t.stride() == like.stride() and t.dtype == like.dtype)


@_rule(aten.rsub.Scalar)
def _rsub(tape: Any, node: Any, like: torch.Tensor) -> Any:
    if _argument(node, 2, "alpha", 1) != 1:
        return None
    return tape.map("sub", like, [node.args[1], node.args[0]])


@_rule(aten.pow.Tensor_Scalar)
def _pow(tape: Any, node: Any, like: torch.Tensor) -> Any:
    x, exponent = node.args
    if like.dtype != tape.dtype:
        return None
    function = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal", 1: "copy"}.get(float(exponent))
    if function is not None:
        return tape.map(function, like, [x])
    if exponent == 3:
        square = tape.map("square", like, [x])
        return None if square is None else tape.map("mul", like, [square, x])
    return None


@_rule(
    aten.clone.default, aten.contiguous.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default
)
def _copy(tape: Any, node: Any, like: torch.Tensor) -> Any:
    p = tape.places[node.args[0]]
    if like.dtype not in (tape.dtype, torch.bool) or (like.dtype == torch.bool) != p.mask:
        return None
    if p.strides == like.stride() or p.array.kind == "number":
        return p  # nothing writes to it
    return tape.map("copy", like, [p], mask=p.mask)


@_rule(aten._to_copy.default)
def _to_copy(tape: Any, node: Any, like: torch.Tensor) -> Any:
    p = tape.places[node.args[0]]
    if like.dtype != tape.dtype or not (p.mask or p.array.dtype == tape.dtype):
        return None
    p = p.unmasked()
    return p if p.strides == like.stride() else tape.map("copy", like, [p])


@_rule(aten.threshold_backward.default)
def _threshold_backward(tape: Any, node: Any, like: torch.Tensor) -> Any:
    return tape.map("relu_grad", like, node.args[:2], float(node.args[2]))


@_rule(aten.leaky_relu_backward.default)
def _leaky_relu_backward(tape: Any, node: Any, like: torch.Tensor) -> Any:
    return tape.map("leaky_relu_grad", like, node.args[:2], float(node.args[2]))


@_rule(aten.mse_loss_backward.default)
def _mse_loss_backward(tape: Any, node: Any, like: torch.Tensor) -> Any:
    gradient, x, t, reduction = node.args
    count = x.meta["val"].numel()
    norm = 2.0 / count if reduction == 1 and count else 2.0  # without elements there is nothing to multiply
    difference = tape.map("sub", like, [x, t])
    scaled = difference and tape.map("mul", like, [difference, norm])
    return scaled and tape.map("mul", like, [scaled, gradient])


@_rule(aten.where.self)
def _where(tape: Any, node: Any, like: torch.Tensor) -> Any:
    p = tape.places.get(node.args[0])
    if p is None or not p.mask:
        return None
    return tape.map("where", like, node.args)


@_rule(aten.logical_not.default, aten.bitwise_not.default)
def _not(tape: Any, node: Any, like: torch.Tensor) -> Any:
    p = tape.places[node.args[0]]
    return tape.map("eq", like, [p, tape.number(0.0, like)], mask=True) if p.mask else None


@_rule(aten.ones_like.default, aten.zeros_like.default, aten.full_like.default, aten.full.default)
@_rule(aten.zeros.default, aten.ones.default, aten.new_zeros.default, aten.new_ones.default, aten.new_full.default)
@_rule(aten.scalar_tensor.default)
def _full(tape: Any, node: Any, like: torch.Tensor) -> Any:
    if like.dtype != tape.dtype:
        return None
    name = node.target.overloadpacket.__name__
    if name == "scalar_tensor":
        value = node.args[0]
    elif "full" in name:
        value = node.args[2] if name == "new_full" else node.args[1]
    else:
        value = 1 if "ones" in name else 0
    if isinstance(value, fx.Node):
        return None
    return tape.number(float(torch.tensor(float(value), dtype=like.dtype)), like)


# ---- reductions and products -----------------------------------------------------------------------------------------


@_rule(aten.sum.default, aten.sum.dim_IntList, aten.amax.default)
def _sum(tape: Any, node: Any, like: torch.Tensor) -> Any:
    if node.kwargs.get("dtype") not in (None, tape.dtype):
        return None
    return _reduced(tape, node, like, MAX if node.target is aten.amax.default else SUM)


def _reduced(tape: Any, node: Any, like: torch.Tensor, kind: int) -> Any:
    x = node.args[0]
    rank = x.meta["val"].dim()
    dims = _argument(node, 1, "dim", None)
    dims = list(range(rank)) if not dims else [dims] if isinstance(dims, int) else dims
    if kind == MAX and x.meta["val"].numel() == 0:
        return None
    return tape.reduce(kind, like, x, dims, bool(_argument(node, 2, "keepdim", False)))


@_rule(aten.mean.default, aten.mean.dim)
def _mean(tape: Any, node: Any, like: torch.Tensor) -> Any:
    if node.kwargs.get("dtype") not in (None, tape.dtype):
        return None
    count = node.args[0].meta["val"].numel() / max(like.numel(), 1)
    total = _reduced(tape, node, like, SUM) if count else None
    return total and tape.map("div", like, [total, count])


@_rule(aten.dot.default)
def _dot(tape: Any, node: Any, like: torch.Tensor) -> Any:
    return tape.dot(like, *node.args)


@_rule(aten.mm.default, aten.bmm.default, aten.addmm.default, aten.matmul.default)
def _product(tape: Any, node: Any, like: torch.Tensor) -> Any:
    if node.kwargs or like.dtype != tape.dtype:
        return None
    if node.target is aten.addmm.default:
        return tape.product(like, node.args[1], node.args[2], node.args[0])
    if any(x.meta["val"].dim() < 2 for x in node.args):
        return None
    return tape.product(like, *node.args)
