"""Products of softmax(scale * Q K^T) and V as `F.scaled_dot_product_attention`, in a recorded graph.

With a mask, torch's function computes the same only where no row is masked throughout: for such a row it returns zeros
if the mask is bool or -inf (the softmax of the network returns equal weights or NaN), and its gradient is wrong if the
mask is a large negative number. Therefore a mask that depends on inputs is a mask of torch's function only if the
network itself makes the weights of masked elements zero after the softmax, and that of other networks stays as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from compatgrad.interop.native._layers import Layer

__all__ = ["DROPPED", "join_attention"]

aten = torch.ops.aten
_VIEWS = {aten.view.default, aten._unsafe_view.default, aten.expand.default, aten.clone.default}
_MULS = {aten.mul.Scalar, aten.mul.Tensor}
_DIVS = {aten.div.Scalar, aten.div.Tensor}
_NOTS = {aten.bitwise_not.default, aten.logical_not.default}
_LIKES = {aten.ones_like.default, aten.zeros_like.default, aten.full_like.default}
_FILLED = {aten.ones_like.default, aten.zeros_like.default, aten.ones.default, aten.zeros.default}
_MOVES = {*_VIEWS, aten.unsqueeze.default, aten.permute.default, aten.select.int, aten.slice.Tensor}
_DROPOUT = re.compile(r"F\.dropout\(\{0\}, ([\d.e+-]+), training=self\.training\)")
_SOFTMAX = re.compile(r"F\.softmax\(\{0\}, (-?\d+)\)")
# the part of the call that is missing where the network does not drop out
DROPPED = re.compile(r", dropout_p=[\d.e+-]+ if self\.training else 0\.0")
_HIDES = -1e4  # summands up to this number make a weight zero, beside usual scores


def _shape(node: Any) -> tuple[int, ...]:
    runs = node.meta.get("runs") if isinstance(node, fx.Node) else None
    return tuple(runs[0].shape) if runs else ()


def _dtype(node: fx.Node) -> torch.dtype | None:
    runs = node.meta.get("runs")
    return runs[0].dtype if runs else None


def _inside(node: Any) -> Any:
    """The node before calls that leave the last two axes as they are; None if other nodes use its values."""
    while isinstance(node, fx.Node) and sum(n.target not in _LIKES for n in node.users) == 1:
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
    while node is not None and node.target in _MULS | _DIVS:
        number = node.args[1]
        if not isinstance(number, (int, float)) or not number:
            return None, 1.0
        scale = scale * number if node.target in _MULS else scale / number
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


# ---- masks -----------------------------------------------------------------------------------------------------------


def _plain(node: Any) -> tuple[Any, bool]:
    """For a mask of zeros and ones the node that it repeats in another dtype, and whether it is its opposite."""
    opposite = False
    while isinstance(node, fx.Node):
        if node.target in _NOTS:
            opposite = not opposite
        elif node.target not in (aten._to_copy.default, aten.clone.default) and not (
            node.target is aten.ne.Scalar and node.args[1] == 0
        ):
            break
        node = node.args[0]
    return node, opposite


def _binary(node: Any) -> bool:
    """Whether all numbers of a node are 0 or 1."""
    while isinstance(node, fx.Node) and _dtype(node) != torch.bool:
        if node.target in _MULS and len(node.all_input_nodes) == 2:
            return all(map(_binary, node.args))
        if node.target in _FILLED:
            return True
        if node.target not in {*_MOVES, aten._to_copy.default}:
            return False
        node = node.args[0]
    return isinstance(node, fx.Node)


class _Known:
    """Values of nodes that depend on no input and no parameter. constants: those of the graph. parameters: names."""

    def __init__(self, graph: fx.Graph, constants: Mapping[str, torch.Tensor], parameters: Container[str]) -> None:
        self.constants = constants
        self._values: dict[tuple[fx.Node, int], Any] = {}
        self._open: set[fx.Node] = set()  # nodes that depend on inputs, buffers or random numbers
        self._learned: set[fx.Node] = set()  # nodes that depend on parameters and known values alone
        for node in graph.nodes:  # in order, because a network may be deeper than Python's stack
            before = node.all_input_nodes if node.target is not aten.sym_size.int else []
            if node.op == "get_attr" and str(node.target) in parameters:
                self._learned.add(node)
            elif self._starts(node) or any(n in self._open for n in before):
                self._open.add(node)
            elif any(n in self._learned for n in before):
                self._learned.add(node)

    def _starts(self, node: fx.Node) -> bool:
        if node.op != "call_function":
            return str(node.target) not in self.constants
        target = node.target
        drawn = isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags
        return drawn or bool(node.args and isinstance(node.args[0], Layer))

    def value(self, node: Any, run: int = 0) -> Any:
        """The value in a run; None if it is not known."""
        if not isinstance(node, fx.Node):
            return node
        if node in self._open or node in self._learned:
            return None
        if (node, run) not in self._values:
            self._values[node, run] = self._value(node, run)
        return self._values[node, run]

    def _value(self, node: fx.Node, run: int) -> Any:
        if node.op == "get_attr":
            return self.constants[str(node.target)]
        if node.target is aten.sym_size.int:
            return node.args[0].meta["runs"][run].shape[node.args[1]]  # type: ignore[union-attr]
        found = {n: self.value(n, run) for n in node.all_input_nodes}
        if any(v is None for v in found.values()):  # a node that was made after the sets
            return None
        args, kwargs = fx.map_arg((node.args, dict(node.kwargs)), found.get)
        return node.target(*args, **kwargs)  # type: ignore[operator]

    def values(self, node: fx.Node) -> list[torch.Tensor] | None:
        """The values in all runs; None if they are not known."""
        found = [self.value(node, k) for k in range(len(node.meta.get("runs", ())))]
        return found if found and all(isinstance(v, torch.Tensor) for v in found) else None

    def fill(self, node: Any) -> float | None:
        """The number of which a node consists."""
        if isinstance(node, (int, float)):
            return float(node)
        if node.target in _LIKES:
            return node.args[1] if len(node.args) > 1 else float(node.target is aten.ones_like.default)
        if node.target in _MULS and isinstance(node.args[1], (int, float)):
            of = self.fill(node.args[0])
            return None if of is None else of * node.args[1]
        if node.target in _VIEWS:
            return self.fill(node.args[0])
        known = self.value(node)
        same = isinstance(known, torch.Tensor) and known.numel() and bool((known == known.flatten()[0]).all())
        return float(known.flatten()[0]) if same else None

    def learned(self, node: fx.Node) -> bool:
        """Whether a node depends on parameters and on known values alone, and no known value hides an element."""
        if node in self._open:
            return False
        if node in self._learned:
            return all(map(self.learned, node.all_input_nodes))
        known = self.value(node)
        return not isinstance(known, torch.Tensor) or bool((known > _HIDES).all())


@dataclass
class _Mask:
    """What is added to the scores, or which of them count. opposite: the node is the opposite of a bool mask."""

    node: fx.Node | None
    causal: bool = False
    opposite: bool = False


def _causal(keeps: list[torch.Tensor]) -> bool:
    """Whether the elements that count are those up to the diagonal."""
    return all(t.dim() > 1 and bool((t == t.new_ones(t.shape[-2:]).tril()).all()) for t in keeps)


def _every_row(keeps: list[torch.Tensor]) -> bool:
    return all(bool(t.any(-1).all()) for t in keeps)


# ---- attention -------------------------------------------------------------------------------------------------------


@dataclass
class _Scores:
    """What the softmax gets: scale * q k, of the shape of `node`, and the mask."""

    product: fx.Node
    scale: float
    node: fx.Node
    mask: _Mask | None = None


class _Joiner:
    def __init__(self, graph: fx.Graph, call: Any, known: _Known) -> None:
        self.graph, self.call, self.known = graph, call, known

    def _product(self, node: Any, at: fx.Node, mask: _Mask | None = None) -> _Scores | None:
        product, scale = _scaled(_inside(node))
        if product is None or product.target is not aten.bmm.default:
            return None
        return _Scores(product, scale, at, mask)

    def _chosen(self, node: Any, zeros: Any) -> _Scores | None:
        """The scores of a softmax whose masked elements are a large negative number. zeros: the product that makes the
        weights of masked elements zero, or None."""
        args: Any = node.args
        if node.target is aten.masked_fill.Scalar:
            condition, other, opposite = args[1], args[2], True
            scores = args[0]
        elif node.target is aten.where.self:
            fills = [self.known.fill(a) for a in args[1:]]
            condition, opposite = args[0], fills[0] is not None
            scores, other = (args[2], fills[0]) if opposite else (args[1], fills[1])
        else:
            return None
        if other is None or not isinstance(other, (int, float)) or not other <= _HIDES:
            return None
        made = self._product(scores, node)
        if made is None:
            return None
        if zeros is not None:
            by = _plain(zeros)
            of = _plain(condition)
            if not _binary(zeros) or by[0] is not of[0] or by[1] != (of[1] != opposite):
                return None
            made.mask = _Mask(zeros) if _dtype(zeros) == torch.bool else _Mask(condition, opposite=opposite)
            return made
        keeps = self.known.values(condition)
        if keeps is None or not _every_row(keeps := [t.bool() != opposite for t in keeps]):
            return None
        made.mask = _Mask(condition, _causal(keeps), opposite)
        return made

    def _added(self, node: Any) -> _Scores | None:
        """The scores of a softmax to which a mask is added that is a constant or learned."""
        if node.target is not aten.add.Tensor or node.kwargs or len(node.all_input_nodes) != 2:
            return None
        for scores, mask in (node.args, node.args[::-1]):
            made = self._product(scores, node)
            if made is None or _shape(scores) != _shape(node):
                continue
            values = self.known.values(mask)
            if values is None:
                return None if not self.known.learned(mask) else _Scores(made.product, made.scale, node, _Mask(mask))
            keeps = [t > _HIDES for t in values]
            if not _every_row(keeps) or any(bool((t.isnan() | (t == math.inf)).any()) for t in values):
                return None
            flat = all(bool(((t == 0) | ~k).all()) for t, k in zip(values, keeps, strict=True))
            made.mask = _Mask(mask, flat and _causal(keeps))
            return made
        return None

    def _scores(self, softmax: fx.Node, zeros: Any) -> _Scores | None:
        node = _inside(softmax.args[1][0])  # type: ignore[index]
        if node is None:
            return None
        if zeros is not None or node.target in (aten.where.self, aten.masked_fill.Scalar):
            return self._chosen(node, zeros)
        return self._product(softmax.args[1][0], node) or self._added(node)  # type: ignore[index]

    @staticmethod
    def _zeros(node: Any) -> Iterator[tuple[Any, Any]]:
        """The ways in which a node is a softmax: with the product that makes masked weights zero, or None."""
        if not isinstance(node, fx.Node):
            return
        yield node, None
        if node.target is aten.native_dropout_backward.default and node.args[2] == 1:
            yield _inside(node.args[0]), node.args[1]
        if node.target is aten.mul.Tensor and len(node.all_input_nodes) == 2:
            yield _inside(node.args[0]), node.args[1]
            yield _inside(node.args[1]), node.args[0]

    def _found(self, node: fx.Node) -> tuple[_Scores, str] | None:
        """The scores for a product of weights and values, and the ratio of the dropout between."""
        weights, dropout = _inside(node.args[0]), ""
        if (drops := _layer(weights, _DROPOUT)) is not None:
            weights, dropout = _inside(weights.args[1][0]), drops[1]
        for softmax, zeros in self._zeros(weights):
            found = _layer(softmax, _SOFTMAX)
            if found is None or int(found[1]) not in (-1, len(_shape(softmax)) - 1):
                continue
            scores = self._scores(softmax, zeros)
            if scores is not None:
                return scores, dropout
        return None

    def _lifted(self, node: fx.Node, of: fx.Node, make: bool) -> fx.Node | None:
        """A node with the first axes of another one, such as (batch, heads, ...) instead of (batch * heads, ...). make:
        whether a view is made if there is no such node."""
        first, last = _shape(of)[:-2], _shape(node)[-2:]
        before: Any = node
        while isinstance(before, fx.Node) and _shape(before) != (*first, *last):
            before = before.args[0] if before.target in _VIEWS and _shape(before)[-2:] == last else None
        while isinstance(before, fx.Node) and before.target in (aten.expand.default, aten.clone.default):
            if _shape(before.args[0]) != _shape(before):
                break
            before = before.args[0]
        if before is not None or not make:
            return before  # type: ignore[no-any-return]
        views = [n for n in (of, *of.all_input_nodes) if n.target in _VIEWS and _shape(n)[:-2] == first]
        if not views:
            return None
        made = self.graph.call_function(aten.view.default, (node, [*views[0].args[1][:-2], *last]))  # type: ignore
        made.meta["runs"] = [t.new_empty((*_runs(views[0])[k][:-2], *last)) for k, t in enumerate(node.meta["runs"])]
        return made

    def _write(self, node: fx.Node, scores: _Scores, dropout: str) -> bool:
        q: Any
        k: Any
        v: Any
        q, k, v = *scores.product.args, node.args[1]
        mask, scale = scores.mask, scores.scale
        while q.target in _MULS | _DIVS and isinstance(number := q.args[1], (int, float)) and number:
            q, scale = q.args[0], scale * number if q.target in _MULS else scale / number
        with self.graph.inserting_before(node):
            needed = mask is not None and mask.node is not None and len(_shape(scores.node)) != len(_shape(node))
            lifted = [self._lifted(x, scores.node, needed) for x in (q, k, v)]
            if None not in lifted:
                q, k, v = lifted
            elif needed:
                return False
            given: list[Any] = [q, _turned(self.graph, k), v]
            text = "F.scaled_dot_product_attention({0}, {1}, {2}"
            if mask is not None and mask.causal:
                text += ", is_causal=True"
            elif mask is not None and mask.node is not None:
                given.append(self._bool(mask) if _dtype(mask.node) == torch.bool or mask.opposite else mask.node)
                text += ", attn_mask={3}"
            text += f", dropout_p={dropout} if self.training else 0.0" if dropout else ""
            if not math.isclose(scale * math.sqrt(_shape(q)[-1]), 1, rel_tol=1e-12):
                text += f", scale={scale!r}"
            layer: Any = Layer("", (), f"{text})", tuple(range(len(given))), mode="train" if dropout else "")
            made = self.graph.create_node("call_function", self.call, (layer, given), {}, name="attention")
            made.meta["runs"] = [
                t.new_empty((*x.shape[:-1], t.shape[-1]))
                for t, x in zip(node.meta["runs"], given[0].meta["runs"], strict=True)
            ]
            for user in list(node.users):
                if user.target in _VIEWS and _runs(user) == _runs(made):
                    user.replace_all_uses_with(made)
            if _runs(made) != _runs(node):
                flat = self.graph.call_function(aten.view.default, (made, [-1, *_shape(node)[-2:]]))
                flat.meta["runs"] = node.meta["runs"]
                made = flat
        node.replace_all_uses_with(made)
        return True

    def _bool(self, mask: _Mask) -> fx.Node:
        node: Any = mask.node
        if _dtype(node) != torch.bool:
            node = self._new(aten.ne.Scalar, (node, 0), node)
        return self._new(aten.bitwise_not.default, (node,), node) if mask.opposite else node

    def _new(self, op: Any, args: tuple[Any, ...], like: fx.Node) -> fx.Node:
        made = self.graph.call_function(op, args)
        made.meta["runs"] = [t.bool() for t in like.meta["runs"]]
        return made

    def join(self) -> int:
        found = 0
        for node in list(self.graph.nodes):
            one = self._found(node) if node.target is aten.bmm.default else None
            found += one is not None and self._write(node, *one)
        if found:
            self.graph.eliminate_dead_code()
        return found


def _runs(node: fx.Node) -> list[tuple[int, ...]]:
    return [tuple(t.shape) for t in node.meta["runs"]]


def join_attention(
    graph: fx.Graph, call: Any, constants: Mapping[str, torch.Tensor], parameters: Container[str] = ()
) -> int:
    """Replaces attention by calls of torch's function; returns how many there are. call: the target of a layer.
    constants: the graph's constants. parameters: the names of the network's parameters, without buffers."""
    return _Joiner(graph, call, _Known(graph, constants, parameters)).join()
