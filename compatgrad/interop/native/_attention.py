"""Products of softmax(scale * Q K^T) and V as `F.scaled_dot_product_attention`, in a recorded graph."""

from __future__ import annotations

import math
import re
from typing import Any

import torch
from torch import fx

from compatgrad.interop.native._layers import Layer

__all__ = ["DROPPED", "join_attention"]

aten = torch.ops.aten
_VIEWS = {aten.view.default, aten._unsafe_view.default, aten.expand.default, aten.clone.default}
_DROPOUT = re.compile(r"F\.dropout\(\{0\}, ([\d.e+-]+), training=self\.training\)")
_SOFTMAX = re.compile(r"F\.softmax\(\{0\}, (-?\d+)\)")
# the part of the call that is missing where the network does not drop out
DROPPED = re.compile(r", dropout_p=[\d.e+-]+ if self\.training else 0\.0")


def _shape(node: Any) -> tuple[int, ...]:
    runs = node.meta.get("runs") if isinstance(node, fx.Node) else None
    return tuple(runs[0].shape) if runs else ()


def _inside(node: Any) -> Any:
    """The node before calls that leave the last two axes as they are; None if it has other users."""
    while isinstance(node, fx.Node) and len(node.users) == 1:
        if node.target not in _VIEWS or _shape(node)[-2:] != _shape(node.args[0])[-2:]:
            return node
        node = node.args[0]
    return None


def _layer(node: Any, pattern: re.Pattern[str]) -> re.Match[str] | None:
    layer = node.args[0] if isinstance(node, fx.Node) and node.args else None
    return pattern.fullmatch(layer.call) if isinstance(layer, Layer) else None


def _scaled(node: Any) -> tuple[Any, float]:
    """The node before products with numbers, and their product."""
    scale = 1.0
    while node is not None and node.target in (aten.mul.Scalar, aten.mul.Tensor, aten.div.Scalar, aten.div.Tensor):
        number = node.args[1]
        if not isinstance(number, (int, float)) or not number:
            return None, 1.0
        scale = scale * number if node.target in (aten.mul.Scalar, aten.mul.Tensor) else scale / number
        node = _inside(node.args[0])
    return node, scale


def _turned(graph: fx.Graph, node: fx.Node) -> fx.Node:
    """A node with its last two axes exchanged; the input of the node, if the node itself is such an exchange."""
    last = len(_shape(node))
    if node.target is aten.transpose.int and {a % last for a in node.args[1:]} == {last - 2, last - 1}:  # type: ignore
        before: fx.Node = node.args[0]  # type: ignore[assignment]
        return before
    made = graph.create_node("call_function", aten.transpose.int, (node, -2, -1), {}, name="turned")
    made.meta["runs"] = [t.transpose(-2, -1) for t in node.meta["runs"]]
    return made


def join_attention(graph: fx.Graph, call: Any) -> int:
    """Replaces attention by calls of torch's function; returns how many there are. call: the target of a layer."""
    found = 0
    for node in list(graph.nodes):
        if node.target is not aten.bmm.default:
            continue
        weights, dropout = _inside(node.args[0]), ""
        if (drops := _layer(weights, _DROPOUT)) is not None:
            weights, dropout = _inside(weights.args[1][0]), drops[1]
        softmax = _layer(weights, _SOFTMAX)
        if softmax is None or int(softmax[1]) not in (-1, len(_shape(weights)) - 1):
            continue
        product, scale = _scaled(_inside(weights.args[1][0]))
        if product is None or product.target is not aten.bmm.default:
            continue
        q, k = product.args
        with graph.inserting_before(node):
            text = "F.scaled_dot_product_attention({0}, {1}, {2}"
            text += f", dropout_p={dropout} if self.training else 0.0" if dropout else ""
            if not math.isclose(scale * math.sqrt(_shape(q)[-1]), 1, rel_tol=1e-12):
                text += f", scale={scale!r}"
            layer: Any = Layer("", (), f"{text})", (0, 1, 2), mode="train" if dropout else "")
            given: Any = [q, _turned(graph, k), node.args[1]]
            made = graph.create_node("call_function", call, (layer, given), {}, name="attention")
        made.meta["runs"] = node.meta["runs"]
        node.replace_all_uses_with(made)
        found += 1
    if found:
        graph.eliminate_dead_code()
    return found
