"""Finds attention in a graph, softmax(scale q kᵀ + mask) v, as `hybrid_forward` writes it with `batch_dot`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from compatgrad import _C

from ..ndarray._operator import parse
from ._facts import flag
from ._graph import Node

__all__ = ["SUMS", "Attention", "attend", "find", "fits", "split_shapes"]

_attention: Callable[..., Any] = _C.op("attention")
SUMS = ("broadcast_add", "elemwise_add")  # operators that add two arrays
_LARGE_FACTOR = 1e6


class Attention(NamedTuple):
    """The parts of an attention whose result is that of a `batch_dot`."""

    q: Node  # before it is divided by the square root of its length
    k: Node
    v: Node
    mask: Node | None
    between: list[Node]  # operators whose results only the next one reads, in their order
    splits: list[Node]  # of q, k and v, if each is a `Reshape` that nothing else reads
    turned: bool  # whether k has the axes (heads, depth, rows)
    factor: float  # the product of the numbers by which scores are multiplied, without those that depend on shapes
    by_depth: int  # how often q is divided by the square root of the length of its rows
    by_rows: int  # how often the scores are divided by the square root of the length of their rows

    def scale(self, depth: int, rows: int) -> float:
        """The number by which q kᵀ is multiplied."""
        return self.factor / math.sqrt(depth**self.by_depth * rows**self.by_rows)


def find(node: Node, only_reader: Callable[[Node], Node | None]) -> Attention | None:
    """The attention whose last operator is `node`; None if `node` is another operator, or one of its steps has
    several readers.

    only_reader: the one operator that reads the result of a node, or None.
    """
    if node.op != "batch_dot" or flag(node.params, "transpose_a") or flag(node.params, "transpose_b"):
        return None
    (weights, _), (v, _) = node.inputs
    if not _is_softmax(weights) or only_reader(weights) is None:
        return None
    between, mask = [weights], None
    scores = weights.inputs[0][0]
    if scores.op in SUMS and only_reader(scores) is not None:
        between.append(scores)
        (scores, _), (mask, _) = scores.inputs
        if not _leads_to_product(scores):
            scores, mask = mask, scores
    factor, by_rows, scores = _scales(scores, between, only_reader)
    if scores.op != "batch_dot" or flag(scores.params, "transpose_a") or only_reader(scores) is None:
        return None
    between.append(scores)
    (q, _), (k, _) = scores.inputs
    own, by_depth, q = _scales(q, between, only_reader)
    splits = [q, k, v]
    if len({*map(id, splits)}) < 3 or not all(n.op == "Reshape" and only_reader(n) is not None for n in splits):
        splits = []
    turned = not flag(scores.params, "transpose_b")
    return Attention(q, k, v, mask, between[::-1], splits, turned, factor * own, by_depth, by_rows)


def _is_softmax(node: Node) -> bool:
    """Whether an operator is softmax over the last axis, without further options."""
    p = node.params
    return (
        node.op == "softmax"
        and len(node.inputs) == 1
        and parse(p.get("axis", "-1")) == -1
        and parse(p.get("temperature")) in (None, 1)
        and parse(p.get("dtype")) is None
    )


def _number(node: Node) -> float | None:
    """The number by which an operator multiplies. None for other operators, and for numbers so large or small that
    products with them may overflow or vanish: joined with another number into one factor, they would not.
    """
    if node.op not in ("_mul_scalar", "_div_scalar"):
        return None
    value = float(parse(node.params["scalar"]))
    if not 1 / _LARGE_FACTOR <= abs(value) <= _LARGE_FACTOR:
        return None
    return value if node.op == "_mul_scalar" else 1 / value


def _is_scale(node: Node) -> bool:
    return node.op == "_contrib_div_sqrt_dim" or _number(node) is not None


def _leads_to_product(node: Node) -> bool:
    while _is_scale(node):
        node = node.inputs[0][0]
    return node.op == "batch_dot"


def _scales(node: Node, between: list[Node], only_reader: Callable[[Node], Node | None]) -> tuple[float, int, Node]:
    """Goes from `node` to the operator that is multiplied by numbers, and adds the multiplications to `between`.
    Returns the product of the numbers, how often `node` is divided by the root of its row's length, and the operator.
    """
    factor, roots = 1.0, 0
    while _is_scale(node) and only_reader(node) is not None:
        between.append(node)
        number = _number(node)
        if number is None:
            roots += 1
        else:
            factor *= number
        node = node.inputs[0][0]
    return factor, roots, node


def fits(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, flat: bool) -> bool:
    """Whether the op takes the shapes of q (heads, n, d), k (heads, m, d), v (heads, m, e) and the mask. `batch_dot`
    and a sum take more of them. The heads may have two axes; if `flat`, the mask has one axis for both.
    """
    if not (q.dim() == k.dim() == v.dim() and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]):
        return False
    if mask is None:
        return True
    full = (*([math.prod(q.shape[:-2])] if flat else q.shape[:-2]), q.shape[-2], k.shape[-2])
    return mask.dim() <= len(full) and all(a in (1, b) for a, b in zip(mask.shape[::-1], full[::-1], strict=False))


def attend(
    scale: float,
    turned: bool,
    flat: bool,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """The attention as one op. If `flat`, the two axes of heads that the inputs have are one in the result."""
    if turned:
        k = k.transpose(-1, -2)
    if flat and mask is not None and mask.dim() == 3 and mask.shape[0] > 1:
        mask = mask.unflatten(0, q.shape[:2])
    y: torch.Tensor = _attention(q, k, v, mask, scale=scale).tensor
    return y.flatten(0, 1) if flat else y


def split_shapes(sources: Sequence[torch.Tensor], results: Sequence[Sequence[int]]) -> bool:
    """Whether each result is its source with the first two of four axes made one."""
    return all(
        x.dim() == 4 and tuple(y) == (x.shape[0] * x.shape[1], *x.shape[2:])
        for x, y in zip(sources, results, strict=True)
    )
