"""Combines the traces of one network at several sizes into one graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from compatgrad.exporting._fit import Sizes, Symbol
from compatgrad.exporting._trace import Call, ExportError, Trace, Value

__all__ = ["Assembly", "Unfitted"]

aten = torch.ops.aten


class Unfitted(ExportError):
    """A number for which no expression of the sizes was found."""


class Assembly:
    """Makes one graph of several traces.

    traces: the traces of the network, one per run. sizes: for each name of a dynamic size its values in the runs.
        places: for each name the input and dimension from which the size is read. `graph` is the result, `constants`
        its constant tensors by name.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        inputs: Sequence[str],
        sizes: Mapping[str, Sequence[int]],
        places: Mapping[str, tuple[int, int]],
    ) -> None:
        self.traces, self.runs = traces, len(traces)
        self.sizes_text = sizes
        self.graph = fx.Graph()
        self.constants: dict[str, torch.Tensor] = {}
        self._nodes: dict[int, fx.Node] = {}  # the nodes of the first trace's Values
        # for the other traces: the corresponding Value of the first trace
        self._same: list[dict[int, Value]] = [{} for _ in traces]
        self._state: dict[str, fx.Node] = {}
        self._expressions: dict[Any, fx.Node] = {}
        self._kept: list[Any] = []
        nodes = [self.graph.placeholder(name) for name in inputs]
        self.sizes = Sizes({Symbol(nodes[i], d): sizes[name] for name, (i, d) in places.items()})
        for k, node in enumerate(nodes):
            self._pair([t.inputs[k] for t in traces], node)

    # ---- values ------------------------------------------------------------------------------------------------------

    def _pair(self, values: Sequence[Value], node: fx.Node) -> None:
        self._nodes[id(values[0])] = node
        node.meta["runs"] = [v.fake for v in values]
        for k, v in enumerate(values):
            self._same[k][id(v)] = values[0]
            self._kept.append(v)
        if values[0].kind != "state":
            for d, lengths in enumerate(_lengths(values)):
                if len(set(lengths)) > 1:
                    self.sizes.seen(lengths, node, d)

    def node(self, values: Sequence[Value], where: str) -> fx.Node:
        first = values[0]
        known = [self._same[k].get(id(v)) for k, v in enumerate(values)]
        if all(v is first for v in known):
            return self._nodes[id(first)]
        kinds = {v.kind for v in values}
        if any(v is not None for v in known) or len(kinds) > 1:
            raise ExportError(f"{where} gets different tensors{self._at()}: the code depends on the size")
        if first.kind == "state":
            if len({v.source for v in values}) > 1:
                raise ExportError(f"{where} gets {', '.join(str(v.source) for v in values)}{self._at()}")
            node = self.state(first.source)
        elif first.kind == "constant":
            node = self._constant(values, where)
        else:
            raise ExportError(f"{where} gets a tensor of another run")
        self._pair(values, node)
        return node

    def state(self, name: str) -> fx.Node:
        if name not in self._state:
            self._state[name] = self.graph.create_node("get_attr", name, name=name.replace(".", "_"))
        return self._state[name]

    def _constant(self, values: Sequence[Value], where: str) -> fx.Node:
        tensors = [v.source for v in values]
        written = any(w is values[0] for call in self.traces[0].calls for w in call.written())
        if all(t.shape == tensors[0].shape and same_values(t, tensors[0]) for t in tensors):
            node = self._attribute(tensors[0])
            # it existed before the runs, and is not made again in each
            own = self.runs > 1 and len({v.place for v in values}) == 1
            return self._call(aten.clone.default, (node,), {}) if written and not own else node
        if len({t.dim() for t in tensors}) > 1:
            raise ExportError(f"{where} gets a constant array of {_shapes(tensors)}{self._at()}")
        shape = self.argument([list(t.shape) for t in tensors], where, [])
        options = {"dtype": tensors[0].dtype, "device": tensors[0].device}
        if all(t.numel() and bool((t == t.flatten()[0]).all()) for t in tensors):
            fill = self.argument([t.flatten()[0].item() for t in tensors], where, [])
            return self._call(aten.full.default, (shape, fill), options)
        changing = [d for d, lengths in enumerate(_lengths(values)) if len(set(lengths)) > 1]
        parts = tensors
        for d in changing:
            parts = [t.narrow(d, 0, 1) if bool((t == t.narrow(d, 0, 1)).all()) else t for t in parts]
        if changing and all(p.shape == parts[0].shape and same_values(p, parts[0]) for p in parts):
            node = self._call(aten.expand.default, (self._attribute(parts[0].clone()), shape), {})
            return self._call(aten.clone.default, (node,), {}) if written else node
        if changing and tensors[0].dtype != torch.bool:
            start, step = tensors[0].flatten()[0].item(), (tensors[0].flatten()[1] - tensors[0].flatten()[0]).item()
            counted = [start + step * torch.arange(t.numel(), dtype=t.dtype).view(t.shape) for t in tensors]
            if all(torch.equal(t, c) for t, c in zip(tensors, counted, strict=True)):
                length = self.argument([t.numel() for t in tensors], where, [])
                node = self._call(aten.arange.default, (length,), options)
                if step != 1:
                    node = self._call(aten.mul.Scalar, (node, step), {})
                if start:
                    node = self._call(aten.add.Scalar, (node, start), {})
                return self._call(aten.view.default, (node, shape), {}) if tensors[0].dim() > 1 else node
        what = self._at() if changing else ", and its values are not the same in every run: it may be random"
        raise ExportError(
            f"{where} gets an array of {_shapes(tensors)} that the code itself makes{what}. "
            "Make it from a Variable by the frontend's functions, or pass it as an input"
        )

    def _attribute(self, t: torch.Tensor) -> fx.Node:
        name = f"_constant_{len(self.constants)}"
        self.constants[name] = t
        return self.graph.create_node("get_attr", name, name=name[1:])

    # ---- arguments ---------------------------------------------------------------------------------------------------

    def argument(self, given: Sequence[Any], where: str, near: Sequence[Any]) -> Any:
        """The graph's node or value for an argument, from its values in each run."""
        first = given[0]
        if all(isinstance(g, Value) for g in given):
            return self.node(given, where)
        if isinstance(first, (list, tuple, dict)):
            if any(type(g) is not type(first) or len(g) != len(first) for g in given):
                raise ExportError(f"{where} gets {_texts(given)}{self._at()}")
            if isinstance(first, dict):
                return {k: self.argument([g[k] for g in given], where, near) for k in first}
            items = [self.argument(list(g), where, near) for g in zip(*given, strict=True)]
            return items if isinstance(first, list) else tuple(items)
        if all(type(g) is type(first) and (g == first or (g != g and first != first)) for g in given):  # NaN, too
            return first
        if all(isinstance(g, (int, float)) and not isinstance(g, bool) for g in given):
            found = self.sizes.fit(given, near)
            if found is not None:
                return self.expression(found)
            reasons = (
                "no expression of the sizes gives these numbers, or the number is counted from call to call, as in an "
                "optimizer's update, which belongs after the call; or it is computed from values of parameters"
            )
            if not self.sizes.known:
                reasons = (
                    "the number is counted from call to call, as in an optimizer's update, which belongs after the "
                    "call; or it is computed from values of parameters; or outside, and can be passed as an input"
                )
            raise Unfitted(f"{where} gets {_texts(given)}{self._at()}: {reasons}")
        raise ExportError(f"{where} gets {_texts(given)}{self._at()}: the code depends on the size")

    def expression(self, e: Any) -> Any:
        """The node or number for an expression's value; all uses of an expression share one node."""
        if not isinstance(e, (Symbol, tuple)):
            return e
        if e not in self._expressions:
            target, *parts = (aten.sym_size.int, e.tensor, e.dim) if isinstance(e, Symbol) else e
            self._expressions[e] = self._call(target, tuple(self.expression(p) for p in parts), {})
        return self._expressions[e]

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> fx.Node:
        name = target.overloadpacket.__name__ if hasattr(target, "overloadpacket") else target.__name__
        return self.graph.create_node("call_function", target, args, kwargs, name=name)

    def assemble(self) -> None:
        """Writes the calls and the outputs into `graph`."""
        self._compare()
        for calls in zip(*(t.calls for t in self.traces), strict=True):
            self._one(calls)
        self.graph.output(fx.map_arg(self.argument([t.outputs for t in self.traces], "the output", []), self._output))
        for node in self.graph.nodes:
            node.meta.clear()

    def _output(self, node: fx.Node) -> fx.Node:
        """A copy of a result that is a buffer of the graph and that the next call would overwrite."""
        first = self.traces[0]
        kept = {v.memory for call in first.calls for v in call.written() if v.kind == "constant"}
        mine = node.meta.get("runs")
        if mine and mine[0].untyped_storage()._cdata in kept:
            return self._call(aten.clone.default, (node,), {})
        return node

    def _compare(self) -> None:
        lists = [t.calls for t in self.traces]
        for k in range(max(len(c) for c in lists)):
            ops = [c[k].op if k < len(c) else None for c in lists]
            if any(op is not ops[0] for op in ops):
                names = ", ".join(str(op or "missing") for op in ops)
                raise ExportError(
                    f"call {k + 1} of the network is {names}{self._at()}, and a graph has the same calls at all sizes. "
                    "Where the code loops over samples, write it with calls on the batch, or export with dynamic=False"
                )

    def _one(self, calls: Sequence[Call]) -> None:
        op, where = calls[0].op, str(calls[0].op)
        near = []
        for values in zip(*(c.inputs() for c in calls), strict=False):
            node = self.node(values, where)
            near += [(Symbol(node, d), n) for d, n in enumerate(_lengths(values)) if len(set(n)) > 1]
        args = self.argument([c.args for c in calls], where, near)
        kwargs = self.argument([c.kwargs for c in calls], where, near)
        if any(v.kind == "state" for v in calls[0].written()):  # autograd must not see this call
            args, kwargs = fx.map_arg(
                (args, kwargs), lambda n: self._call(aten.detach.default, (n,), {}) if "runs" in n.meta else n
            )
        node = self._call(op, tuple(args), kwargs)
        results = list(zip(*(c.results for c in calls), strict=True))
        for values in results:
            k = values[0].index
            self._pair(values, node if k is None else self._call(operator.getitem, (node, k), {}))

    def _at(self) -> str:
        names = [f"{name} {', '.join(_few(v))}" for name, v in self.sizes_text.items()]
        return f" at {'; '.join(names)}" if names else " in two runs"


def same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have equal elements, of which NaN equals NaN."""
    if torch.equal(a, b):
        return True
    return a.is_floating_point() and a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())


def _lengths(values: Sequence[Value]) -> Iterable[tuple[int, ...]]:
    return zip(*(v.fake.shape for v in values), strict=False)


def _shapes(tensors: Sequence[torch.Tensor]) -> str:
    return _texts([tuple(t.shape) for t in tensors])


def _texts(given: Sequence[Any]) -> str:
    return " or ".join(_few(list(dict.fromkeys(str(g) for g in given))))


def _few(values: Sequence[Any]) -> list[str]:
    """The first three values as text."""
    return [str(v) for v in values[:3]] + ["..."] * (len(values) > 3)
