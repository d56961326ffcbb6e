"""Cells that a network composes of elementary functions, in a recorded graph, as `nn.LSTMCell` and `nn.RNNCell`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from compatgrad.interop.native._gathered import Numbers
from compatgrad.interop.native._layers import Layer, put

__all__ = ["join_cells"]

aten = torch.ops.aten
_VIEWS = {aten.view.default, aten._unsafe_view.default, aten.reshape.default}
# calls of one tensor and one axis
_PARTS = {
    aten.select.int: 1, aten.slice.Tensor: 1, aten.unbind.int: 1, aten.split.Tensor: 2, aten.split_with_sizes.default: 2
}  # fmt: skip
_CALLS = {"sigmoid": "torch.sigmoid({0})", "tanh": "torch.tanh({0})", "relu": "F.relu({0})"}


def _shapes(node: Any) -> list[tuple[int, ...]]:
    """The shapes of a node in the runs."""
    return [tuple(t.shape) for t in node.meta.get("runs", ())] if isinstance(node, fx.Node) else []


def _before(node: Any, name: str) -> fx.Node | None:
    """The input of a call of a function of `_CALLS`, or None."""
    if not isinstance(node, fx.Node):
        return None
    if node.args and isinstance(node.args[0], Layer):
        found: Any = node.args[1][0] if node.args[0].call == _CALLS[name] else None
        return found
    return node.args[0] if node.target is getattr(aten, name).default else None  # type: ignore[return-value]


def _factors(node: Any) -> Iterator[tuple[fx.Node, fx.Node]]:
    """For a product of two tensors the two orders of (input of sigmoid, other factor) in which it has this form."""
    if isinstance(node, fx.Node) and node.target is aten.mul.Tensor:
        a, b = node.args
        for gate, other in ((a, b), (b, a)):
            x = _before(gate, "sigmoid")
            if x is not None and isinstance(other, fx.Node):
                yield x, other


@dataclass
class _Sum:
    """A sum of products of inputs (batch, n) with parameters, and of biases: its shape is (batch, ...). The tensors are
    the numbers of parameters, those of weights of shape (n, ...), those of biases (1, ...)."""

    products: list[tuple[fx.Node, torch.Tensor]] = field(default_factory=list)
    biases: list[torch.Tensor] = field(default_factory=list)

    def each(self, move: Callable[[torch.Tensor], torch.Tensor]) -> _Sum:
        return _Sum([(x, move(w)) for x, w in self.products], [move(b) for b in self.biases])

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.products + other.products, self.biases + other.biases)


class _Cells:
    def __init__(self, graph: fx.Graph, call: Any, numbers: Numbers, constants: Mapping[str, torch.Tensor]) -> None:
        self.graph, self.call, self.numbers, self.constants = graph, call, numbers, constants
        self._sums: dict[fx.Node, _Sum | None] = {}
        self._states: set[int] = set()  # first numbers of weights that cells before this one apply to the state
        self._new: dict[fx.Node, fx.Node] = {}  # what has replaced nodes that sums still name

    # ---- gates -------------------------------------------------------------------------------------------------------

    def sum(self, node: fx.Node) -> _Sum | None:
        """What a node computes, if it is a sum of products with parameters."""
        if node not in self._sums:
            flat = any(len(s) < 4 for s in _shapes(node)) or node.target is operator.getitem
            self._sums[node] = self._sum(node) if flat else None
        return self._sums[node]

    def _sum(self, node: fx.Node) -> _Sum | None:
        args: Any = node.args
        if args and isinstance(args[0], Layer):
            return self._of_layer(*args)
        if node.target is aten.mm.default:
            return self._product(args[0], self.numbers.of_node(args[1]))
        if node.target is aten.addmm.default and not node.kwargs:
            return self._added(self._product(args[1], self.numbers.of_node(args[2])), args[0], node)
        if node.target is aten.add.Tensor and not node.kwargs and all(isinstance(a, fx.Node) for a in args):
            first, second = map(self.sum, args)
            if first is not None and second is not None:
                sums = zip(args, (first, second), strict=True)
                fit = all(_shapes(a) == _shapes(node) or self._zeros(s) for a, s in sums)
                return first + second if fit else None
            return self._added(second, args[0], node) if first is None else self._added(first, args[1], node)
        return self._moved(node)

    def _of_layer(self, layer: Layer, given: list[fx.Node]) -> _Sum | None:
        if layer.kind != "nn.Linear" or layer.call != "{m}({0})" or len(_shapes(given[0])[0]) != 2:
            return None
        found = {own: (self.numbers.named(legacy), layout) for own, legacy, layout in layer.state}
        if any(t is None for t, _ in found.values()):
            return None
        made = self._product(given[0], put(found["weight"][1], found["weight"][0]).t())  # type: ignore[arg-type]
        if made is not None and "bias" in found:
            made.biases.append(put(found["bias"][1], found["bias"][0]).unsqueeze(0))  # type: ignore[arg-type]
        return made

    def _product(self, x: fx.Node, weight: torch.Tensor | None) -> _Sum | None:
        """x times a weight; where x is joined of several tensors, the sum of their products."""
        if weight is None:
            return None
        if x.target is aten.cat.default and len(x.args) > 1 and x.args[1] in (1, -1):
            parts: Any = x.args[0]
            return _Sum(list(zip(parts, weight.split([_shapes(p)[0][1] for p in parts]), strict=True)))
        return _Sum([(x, weight)])

    def _added(self, made: _Sum | None, bias: fx.Node, node: fx.Node) -> _Sum | None:
        b = self.numbers.of_node(bias)
        if made is None or b is None or tuple(b.shape) != _shapes(node)[0][1:]:
            return None
        return made + _Sum([], [b.unsqueeze(0)])

    def _moved(self, node: fx.Node) -> _Sum | None:
        """Parts and other shapes of a sum, whose first axis stays the batch."""
        args: Any = node.args
        if node.target is operator.getitem:
            parts = self._moved_by(args[0], lambda t: args[0].target(t, *args[0].args[1:], **args[0].kwargs)[args[1]])
            return parts if args[0].target in _PARTS else None
        if node.target in _VIEWS:
            before, after = _shapes(args[0]), _shapes(node)
            if [s[0] for s in before if s] != [s[0] for s in after if s] or len({s[1:] for s in after}) != 1:
                return None
            return self._moved_by(node, lambda t: t.reshape(t.shape[0], *after[0][1:]))
        if node.target in (aten.select.int, aten.slice.Tensor):
            return self._moved_by(node, lambda t: node.target(t, *args[1:]))  # type: ignore[operator]
        return self.sum(args[0]) if node.target is aten.clone.default else None

    def _moved_by(self, node: fx.Node, move: Callable[[torch.Tensor], torch.Tensor]) -> _Sum | None:
        """move: what a node does to its first argument, for a tensor with another batch."""
        args: Any = node.args
        if node.target in _PARTS:
            place = _PARTS[node.target]
            axis = args[place] if len(args) > place else node.kwargs.get("dim", 0)
            rest = [a for a in args[1:] if isinstance(a, fx.Node)]
            if rest or not isinstance(axis, int) or axis % len(_shapes(args[0])[0] or (1,)) == 0:
                return None
        own = self.sum(args[0]) if args and isinstance(args[0], fx.Node) else None
        return None if own is None else own.each(move)

    # ---- cells -------------------------------------------------------------------------------------------------------

    def join(self) -> int:
        found = 0
        for node in list(self.graph.nodes):
            cell = self._cell(node)
            if cell is not None:
                self._write(node, *cell)
                found += 1
        if found:
            self.graph.eliminate_dead_code()
        return found

    def _cell(self, node: fx.Node) -> tuple[fx.Node, fx.Node, fx.Node, dict[str, _Sum]] | None:
        """For the sum that is a new memory, f * c + i * g: the output, the state, the memory c, and the gates."""
        if node.target is not aten.add.Tensor or node.kwargs or [len(s) for s in _shapes(node)[:1]] != [2]:
            return None
        for user in node.users:
            for o, output in ((o, h) for h in user.users for o, y in _factors(h) if y is user):
                if _before(user, "tanh") is not node:
                    continue
                for first, second in (node.args, node.args[::-1]):
                    for (f, memory), (i, new) in ((a, b) for a in _factors(first) for b in _factors(second)):
                        g = _before(new, "tanh")
                        if g is None or not self._like(memory, node):
                            continue
                        gates = {k: self.sum(v) for k, v in zip("ifgo", (i, f, g, o), strict=True)}
                        if any(s is None for s in gates.values()):
                            continue
                        state = self._state(gates, memory, node)  # type: ignore[arg-type]
                        if state is not None:
                            return output, state, memory, gates  # type: ignore[return-value]
        return None

    def _is_zero(self, node: fx.Node) -> bool:
        if node.op == "get_attr":
            t = self.constants.get(str(node.target))
            return t is not None and not bool(t.any())
        filled = node.target is aten.full.default and node.args[1] == 0
        return bool(filled) or node.target in (aten.zeros.default, aten.zeros_like.default)

    def _zeros(self, of: _Sum) -> bool:
        """Whether a sum is that of one sample, a first state of zeros, which becomes that of all samples."""
        return all(self._is_zero(x) and _shapes(x)[0][0] == 1 for x, _ in of.products)

    def _like(self, state: fx.Node, node: fx.Node) -> bool:
        """Whether a node can be the state of a cell whose output has the shape of another node."""
        own, of = _shapes(state), _shapes(node)
        return own == of or (self._is_zero(state) and own[0] == (1, of[0][1]))

    def _state(self, gates: Mapping[str, _Sum], memory: fx.Node, node: fx.Node) -> fx.Node | None:
        """The input that is the state, if the four gates are sums of products of the same inputs, of which one can be
        the state."""
        i, batch, units = gates["i"], [s[0] for s in _shapes(node)], _shapes(node)[0][1]
        inputs = [x for x, _ in i.products]
        fit = [x for x in inputs if self._like(x, node)]
        fit = [x for x, w in i.products if int(w[0, 0]) in self._states] or sorted(fit, key=self._is_zero)
        fit = [memory] if memory in inputs else fit  # a cell with one state
        if len(inputs) < 2 or len(set(inputs)) < len(inputs) or len(i.biases) > 2 or not fit:
            return None
        starts = self._is_zero(fit[-1]) and self._is_zero(memory)
        if not starts and [_shapes(x) for x in (fit[-1], memory)] != [_shapes(node)] * 2:
            return None
        if any([s[0] for s in _shapes(x)] != batch for x in inputs if x is not fit[-1]):
            return None
        same = all(
            [x for x, _ in g.products] == inputs
            and len(g.biases) == len(i.biases)
            and all(t.dim() == 2 and t.shape[1] == units and bool(t.all())
                    for t in (*(w for _, w in g.products), *g.biases))
            for g in gates.values()
        )  # fmt: skip
        return fit[-1] if same else None

    def _write(
        self, node: fx.Node, output: fx.Node, state: fx.Node, memory: fx.Node, gates: Mapping[str, _Sum]
    ) -> None:
        self._states.add(int(dict(gates["i"].products)[state][0, 0]))
        call = self._call("nn.LSTMCell", (), node, list(gates.values()), state, memory)
        with self.graph.inserting_before(node):
            for k, old in enumerate((output, node)):
                new = self.graph.call_function(operator.getitem, (call, k))
                new.meta["runs"] = old.meta["runs"]
                old.replace_all_uses_with(new)

    def _call(
        self, kind: str, options: tuple[str, ...], node: fx.Node, gates: list[_Sum], state: fx.Node, memory: fx.Node
    ) -> fx.Node:
        """A call of a cell before a node. memory: the second state of an LSTM."""
        inputs = [x for x, _ in gates[0].products if x is not state]
        weights = {x: torch.cat([dict(g.products)[x].t() for g in gates]) for x in (*inputs, state)}
        gathered = [("weight_ih", torch.cat([weights[x] for x in inputs], 1)), ("weight_hh", weights[state])]
        biases = [torch.cat([g.biases[k][0] for g in gates]) for k in range(len(gates[0].biases))]
        gathered += zip(("bias_ih", "bias_hh"), biases, strict=False)
        rows, units = weights[state].shape
        extra = (("bias_hh", 0.0, (rows,)),) if len(biases) == 1 else ()
        sizes = (str(gathered[0][1].shape[1]), str(units), *(() if biases else ("bias=False",)), *options)
        starts = self._is_zero(state) and self._is_zero(memory)
        pair = kind == "nn.LSTMCell"
        states = [] if starts else [state, memory] if pair else [state]
        text = ("", ", {1}", ", ({1}, {2})")[len(states)]
        layer = Layer(kind, sizes, f"{{m}}({{0}}{text})", tuple(range(1 + len(states))), (), extra,
                      tuple(own for own, _, _ in extra), "", (),
                      tuple((own, self.numbers.gathered(t)) for own, t in gathered),
                      ("{0}[0]", "{0}[1]") if pair else ())  # fmt: skip
        given = [self._new.get(x, x) for x in (*inputs, *states)]
        with self.graph.inserting_before(node):
            if len(inputs) > 1:
                x = self.graph.call_function(aten.cat.default, (given[: len(inputs)], 1))
                x.meta["runs"] = [torch.cat(ts, 1) for ts in zip(*(i.meta["runs"] for i in inputs), strict=True)]
                given = [x, *given[len(inputs) :]]
            arguments: Any = (layer, given)
            return self.graph.create_node("call_function", self.call, arguments, {}, name="cell")

    def join_plain(self) -> int:
        """The same for tanh and relu of the sum of an input and a state. A state is zero, or computed by the same
        weights: otherwise two layers are meant whose results are added."""
        self._sums.clear()
        found: dict[fx.Node, tuple[str, _Sum]] = {}
        states: set[int] = set()
        for node in self.graph.nodes:
            name = next((n for n in ("tanh", "relu") if _before(node, n) is not None), "")
            made = self.sum(_before(node, name)) if name and [len(s) for s in _shapes(node)[:1]] == [2] else None  # type: ignore[arg-type]
            if made is None or not made.products:
                continue
            for x, w in made.products:
                same = found.get(x, ("", None))
                weights = [int(v[0, 0]) for _, v in same[1].products] if same[1] is not None else []
                if self._is_zero(x) or (same[0] == name and weights == [int(v[0, 0]) for _, v in made.products]):
                    states.add(int(w[0, 0]))
            found[node] = name, made
        count = 0
        for node, (name, made) in found.items():
            state = next((x for x, w in made.products if int(w[0, 0]) in states), None)
            if state is None or self._state({"i": made}, state, node) is not state:
                continue
            options = ("nonlinearity='relu'",) if name == "relu" else ()
            new = self._call("nn.RNNCell", options, node, [made], state, state)
            new.meta["runs"] = node.meta["runs"]
            self._new[node] = new
            node.replace_all_uses_with(new)
            count += 1
        if count:
            self.graph.eliminate_dead_code()
        return count


def join_cells(graph: fx.Graph, call: Any, numbers: Numbers, constants: Mapping[str, torch.Tensor]) -> int:
    """Replaces cells by calls of torch's layers; returns how many there are. call: the target of a layer. numbers:
    those of the network's parameters. constants: the graph's constants."""
    cells = _Cells(graph, call, numbers, constants)
    return cells.join() + cells.join_plain()
