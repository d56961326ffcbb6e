"""Runs a graph on NDArrays, node after node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from compatgrad._C import in_graph

from .._frontend import op
from ..base import MXNetError
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from ._compose import implementation
from ._facts import flag, is_variadic, needed_inputs
from ._gates import Gates, find_gates
from ._graph import Entry, Node, order
from ._run import open_ranges, run_node
from ._shapes import shapes_of

__all__ = ["Plan", "evaluate", "evaluate_monitored", "plan"]


class Plan(NamedTuple):
    """The steps in which a graph is run."""

    heads: list[Entry]
    steps: list[tuple[Node, Gates | None, list[int]]]  # node or gates to run; ids of nodes to free
    ranges: list[Node] = []  # nodes without inputs whose shapes their readers determine


def plan(outputs: Sequence[Entry]) -> Plan:
    """The plan of a graph: its nodes in order, with the gates of each recurrent cell as one step."""
    nodes = order(outputs)
    gates = find_gates(nodes, outputs)
    at = {id(g.place): g for g in gates}
    inside = {id(n) for g in gates for n in g.nodes}
    steps: list[tuple[Node, Gates | None, list[int]]] = []
    last: dict[int, int] = {}  # id of a node -> the step in which its value is read last
    for node in nodes:
        found = at.get(id(node))
        if found is None and id(node) in inside:
            continue
        for n in (node,) if found is None else found.nodes:
            last[id(n)] = len(steps)
            last.update((id(m), len(steps)) for m, _ in n.inputs)
        steps.append((node, found, []))
    kept = {id(n) for n, _ in outputs}
    for key, k in last.items():
        if key not in kept:
            steps[k][2].append(key)
    return Plan(list(outputs), steps, open_ranges(nodes))


def ranges_of(ranges: list[Node], heads: Sequence[Entry], arrays: dict[str, NDArray]) -> dict[int, list[NDArray]]:
    """The values of `ranges`, by id of the node; MXNetError if no operator determines a range's length."""
    values = {}
    for node, shape in zip(ranges, shapes_of(ranges, heads, {k: x.shape for k, x in arrays.items()}), strict=True):
        if node.op != "_arange":
            if shape is not None:
                values[id(node)] = run_node(Node(node.op, node.name, [], {**node.params, "shape": str(shape)}), [])
            continue
        if shape is None:
            raise MXNetError(f"Error in operator {node.name}: no operator determines the length of the range")
        n = shape[0]
        p = {"start": 0, "step": 1.0, "repeat": 1, **{k: parse(v) for k, v in node.params.items() if k != "stop"}}
        del p["infer_range"]
        values[id(node)] = [implementation("_arange")(stop=p["start"] + n // p["repeat"] * p["step"], **p)]
    return values


_GRADIENTS = {"where": slice(1, None), "pick": slice(1)}  # inputs to which the original's backward operators give one


class Watched(NamedTuple):
    """The inputs of one operator in a recorded run, in arrays whose gradients come from this operator alone."""

    node: Node
    inputs: list[NDArray]

    def gradients(self) -> list[tuple[str, NDArray]]:
        """(the original's name, gradient) of each input; empty if the backward pass did not reach the operator."""
        if not any(x._fresh_grad for x in self.inputs):
            return []
        name = f"{self.node.name}_backward_output"
        kept = self.inputs[_GRADIENTS.get(self.node.op or "", slice(None))]
        return [(f"{name}{i}" if len(kept) > 1 else name, x.grad) for i, x in enumerate(kept)]


def _watched(node: Node, read: list[NDArray], states: Sequence[str]) -> tuple[list[NDArray], Watched]:
    """The inputs for `node`, and those of them whose gradients are watched; auxiliary states have none."""
    own, marked = list(read), []
    for i, (source, _) in enumerate(node.inputs):
        if read[i].stype != "default" or (source.op is None and source.name in states):
            continue
        if in_graph(read[i]):
            own[i] = op.copy(read[i])
        else:
            own[i] = read[i].detach()
            own[i].attach_grad()
        marked.append(own[i])
    return own, Watched(node, marked)


def evaluate_monitored(
    heads: Sequence[Entry],
    arrays: dict[str, NDArray],
    callback: Any,
    inputs: bool,
    states: Sequence[str] = (),
    watched: list[Watched] | None = None,
) -> list[NDArray]:
    """Like `evaluate`, and calls `callback(name, array)` with each node's outputs and, if `inputs`, its inputs.

    watched: a list that gets a `Watched` for each operator. states: names of the auxiliary states, without gradients.
    """
    nodes = order(heads)
    ranges = open_ranges(nodes)
    values = ranges_of(ranges, heads, arrays) if ranges else {}
    for node in nodes:
        if id(node) in values:
            continue
        if node.op is None:
            values[id(node)] = evaluate(Plan([(node, 0)], [(node, None, [])]), arrays)
            continue
        read = [values[id(n)][i] for n, i in node.inputs]
        if inputs:
            names = () if is_variadic(node.op) else needed_inputs(node.op, node.params)
            if node.op in ("Activation", "SoftmaxActivation"):  # MXNet has no names for their inputs
                names = ["input0"]
            for i, x in enumerate(read):
                source = node.inputs[i][0]
                if source.op is None:
                    callback(source.name, x)
                callback(f"{node.name}_{names[i] if i < len(names) else f'arg{i}'}", x)
        if watched is not None:
            if "BatchNorm" in node.op and flag(node.params, "fix_gamma", True):
                read[1].tensor.fill_(1)  # the operator overwrites gamma, but is given a copy
            read, seen = _watched(node, read, states)
            watched.append(seen)
        values[id(node)] = run_node(node, read)
        for name, y in zip(node.output_names(), values[id(node)], strict=False):
            callback(name, y)
    return [values[id(n)][i] for n, i in heads]


def evaluate(plan: Plan, arrays: dict[str, NDArray]) -> list[NDArray]:
    """The outputs of a graph; `arrays` has the values of variables by name."""
    values = ranges_of(plan.ranges, plan.heads, arrays) if plan.ranges else {}
    for node, gates, unread in plan.steps:
        if id(node) in values:
            pass
        elif node.op is None:
            x = arrays.get(node.name)
            if not isinstance(x, NDArray):
                what = "is missing" if x is None else f"must be an NDArray, got {type(x)}"
                raise MXNetError(f"argument {node.name} {what}")
            values[id(node)] = [x]
        elif gates is None:
            values[id(node)] = run_node(node, [values[id(n)][i] for n, i in node.inputs])
        else:
            ys = gates.compute(*[values[id(n)][i] for n, i in gates.inputs])
            if ys is not None:
                values.update((id(n), [y]) for n, y in zip(gates.outputs, ys, strict=True))
            else:
                for n in gates.nodes:
                    values[id(n)] = run_node(n, [values[id(m)][i] for m, i in n.inputs])
        for key in unread:
            values.pop(key, None)
    return [values[id(n)][i] for n, i in plan.heads]
