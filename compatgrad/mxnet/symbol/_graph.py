"""The graph under symbols: nodes, their order, and MXNet's JSON."""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base import MXNetError
from ..ndarray._operator import parse
from ..util import is_np_shape
from ._facts import CONTROL, FUSED, aux_inputs, canonical, n_outputs, n_visible, output_suffixes

__all__ = ["Node", "from_json", "inner_inputs", "order", "parsed", "text", "to_json"]

Entry = tuple["Node", int]


class Node:
    """A variable (`op` None) or an operator. `inputs`: (node, index of its output) each; `params`: text by name."""

    __slots__ = ("_visible", "attrs", "call", "inputs", "name", "op", "params", "subgraphs")

    def __init__(
        self,
        op: str | None,
        name: str,
        inputs: Sequence[Entry] = (),
        params: dict[str, str] | None = None,
        attrs: dict[str, str] | None = None,
        subgraphs: list[list[Entry]] | None = None,
    ) -> None:
        self.op, self.name = op, name
        self.subgraphs = subgraphs or []  # heads of the graphs that loops, branches and fused operators run
        self.inputs = list(inputs)
        self.params = params or {}  # the operator's parameters
        self._visible = 1 if op is None else 0
        self.call: Any = None  # how the node is run (`_run._call_of`), found at the first run
        # the user's attributes: lr_mult, ctx_group, __shape__ …
        self.attrs = {f"__{k}__" if k in HIDDEN else k: v for k, v in (attrs or {}).items()}

    @property
    def n_visible(self) -> int:
        """The number of outputs that users see."""
        if self._visible == 0 or self.op == "Custom":
            self._visible = n_visible(self.op or "", self.params)
        return self._visible

    @property
    def all_attrs(self) -> dict[str, str]:
        """Parameters and attributes, as JSON keeps them."""
        return {**self.attrs, **self.params}

    def shown_attrs(self) -> dict[str, str]:
        """Parameters and attributes in the form that users see."""
        found = self.all_attrs
        return {**{k: found[f"__{k}__"] for k in HIDDEN if f"__{k}__" in found}, **found}

    def output_names(self) -> list[str]:
        """Names of the outputs that users see."""
        if self.op is None:
            return [self.name]
        return [f"{self.name}_{suffix}" for suffix in output_suffixes(self.op, self.params)]


def order(heads: Iterable[Entry]) -> list[Node]:
    """All nodes that the heads need, inputs first, each once."""
    done: dict[Node, None] = {}
    for head, _ in heads:
        stack = [head]
        while stack:
            node = stack[-1]
            waiting = [n for n, _ in node.inputs if n not in done] if node not in done else ()
            if waiting:
                stack += reversed(waiting)
            else:
                done[stack.pop()] = None
    return list(done)


def auxiliary(nodes: Iterable[Node]) -> set[int]:
    """The ids of variables that operators write to: states that are no arguments."""
    result = set()
    for node in nodes:
        if node.op is not None:
            for i in _inner_states(node) if node.subgraphs else aux_inputs(node.op, node.params):
                if i < len(node.inputs) and node.inputs[i][0].op is None:
                    result.add(id(node.inputs[i][0]))
    return result


def _inner_states(node: Node) -> list[int]:
    """Positions of the inputs that the graphs of a loop or a branch write to."""
    found = []
    for heads, places in inner_inputs(node):
        nodes = order(heads)
        states = auxiliary(nodes)
        variables = [n for n in nodes if n.op is None]
        found += [i for n, i in zip(variables, places, strict=True) if id(n) in states]
    return found


def parsed(node: Node) -> dict[str, Any]:
    """The parameters of a loop or a branch as Python values."""
    found = {k: parse(v) for k, v in node.params.items()}
    return {k: [v] if k.endswith("_locs") and isinstance(v, int) else v for k, v in found.items()}


def inner_inputs(node: Node) -> list[tuple[list[Entry], list[int]]]:
    """The graphs of an operator, each with the positions of the operator's inputs for which its variables stand.

    MXNetError for fused operators of other backends.
    """
    if node.op in FUSED:  # the ends of ranges follow the inputs of the graph
        (heads,) = node.subgraphs
        return [(heads, list(range(sum(n.op is None for n in order(heads)))))]
    if node.op not in CONTROL:
        raise MXNetError(f"{node.name}: the fused operator {node.op} belongs to a backend that is not supported")
    p = parsed(node)
    if node.op == "_foreach":
        at = [0] * len(node.inputs)
        for i, k in enumerate(itertools.chain(p["in_data_locs"], p["in_state_locs"], p["remain_locs"])):
            at[k] = i
        return [(node.subgraphs[0], at)]
    keys = ("cond_input_locs", "func_input_locs") if node.op == "_while_loop" else (
        "cond_input_locs", "then_input_locs", "else_input_locs")  # fmt: skip
    return [(heads, list(p[k])) for heads, k in zip(node.subgraphs, keys, strict=True)]


def copied(heads: Sequence[Entry], replace: dict[int, Entry] | None = None) -> list[Entry]:
    """A copy of the graph; `replace`: id of a variable -> the output that replaces it."""
    new: dict[int, Node] = {}
    replace = replace or {}

    def entry(e: Entry) -> Entry:
        return replace[id(e[0])] if id(e[0]) in replace else (new[id(e[0])], e[1])

    for node in order(heads):
        if id(node) not in replace:
            inputs = [entry(e) for e in node.inputs]
            new[id(node)] = Node(node.op, node.name, inputs, dict(node.params), dict(node.attrs), node.subgraphs)
    return [entry(e) for e in heads]


def _as_dict(heads: Sequence[Entry]) -> dict[str, Any]:
    nodes = order(heads)
    number = {id(n): i for i, n in enumerate(nodes)}
    states = auxiliary(nodes)
    rows = [0]
    shown = []
    for node in nodes:
        rows.append(rows[-1] + (1 if node.op is None else n_outputs(node.op, node.params)))
        entry: dict[str, Any] = {"op": node.op or "null", "name": node.name}
        if node.all_attrs:
            entry["attrs"] = dict(sorted(node.all_attrs.items()))
        # the third number is MXNet's version of the input: 1 for states, to which an operator has written
        entry["inputs"] = [[number[id(n)], i, int(id(n) in states)] for n, i in node.inputs]
        if node.subgraphs:
            entry["subgraphs"] = [_as_dict(inner) for inner in node.subgraphs]
        shown.append(entry)
    return {
        "nodes": shown,
        "arg_nodes": [i for i, n in enumerate(nodes) if n.op is None],
        "node_row_ptr": rows,
        "heads": [[number[id(n)], i, 0] for n, i in heads],
    }


def to_json(heads: Sequence[Entry]) -> str:
    """The graph in the format of MXNet 1.9's symbol files."""
    graph = _as_dict(heads)
    graph["attrs"] = {"mxnet_version": ["int", 10901]}
    if is_np_shape():
        graph["attrs"]["is_np_shape"] = ["int", 1]
    return json.dumps(graph, indent=2)


def from_json(text: str, name: str = "the text") -> list[Entry]:
    """The heads of a graph from JSON of any version of MXNet; MXNetError if the text is no such graph."""

    def wrong(what: str) -> MXNetError:
        return MXNetError(f"symbol.load: {name} is no symbol: {what}")

    try:
        graph = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise wrong(f"no JSON ({e})") from None
    if not isinstance(graph, dict):
        raise wrong("expected an object with 'nodes' and 'heads'")
    # a length of 0 means "unknown", unless the graph was written with NumPy's shapes
    attrs = graph.get("attrs")
    unknown = is_np_shape() and not (isinstance(attrs, dict) and attrs.get("is_np_shape"))
    try:
        return _from_dict(graph, unknown, wrong)
    except RecursionError:
        raise wrong("its graphs are nested too deeply") from None


def _entry(nodes: list[Node], place: Any) -> Entry:
    """An output of a node, by the numbers of both."""
    node, output = int(place[0]), int(place[1])
    if node < 0 or output < 0:
        raise IndexError(f"a negative number in {list(place)}")
    return nodes[node], output


def _from_dict(graph: Any, unknown: bool, wrong: Callable[[str], MXNetError]) -> list[Entry]:
    if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list) or "heads" not in graph:
        raise wrong("expected an object with 'nodes' and 'heads'")
    nodes: list[Node] = []
    for i, raw in enumerate(graph["nodes"]):
        try:
            # before version 1.0 parameters were in "param" and attributes in "attr"
            found = {**(raw.get("attr") or {}), **(raw.get("param") or {}), **(raw.get("attrs") or {})}
            found = {str(k): v if isinstance(v, str) else str(v) for k, v in found.items()}
            op = None if raw["op"] == "null" else canonical(str(raw["op"]))
            if unknown and op is None and "__shape__" in found:
                found["__shape__"] = str(tuple(-1 if n == 0 else n for n in ast.literal_eval(found["__shape__"])))
            inputs = [_entry(nodes, e) for e in raw["inputs"]]
            hidden = {k: v for k, v in found.items() if op is None or _is_attribute(k)}
            params = {k: v for k, v in found.items() if k not in hidden}
            inner = [_from_dict(g, unknown, wrong) for g in raw.get("subgraphs") or ()]
            nodes.append(Node(op, str(raw["name"]), inputs, params, hidden, inner))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as e:
            raise wrong(f"node {i}: {type(e).__name__} {e}") from None
    try:
        return [_entry(nodes, h) for h in graph["heads"]]
    except (IndexError, TypeError, ValueError, OverflowError):
        raise wrong(f"heads {graph['heads']} name unknown nodes; the number of nodes is {len(nodes)}") from None


# attributes that are kept as __key__, and that users see under both names
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")


def text(value: Any) -> str:
    """A parameter as text, the form in which graphs keep it."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(text(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, type) or isinstance(value, np.dtype):
        return np.dtype(value).name
    if isinstance(value, np.generic):
        return str(value.item())
    return str(value)


def _is_attribute(key: str) -> bool:
    return key in HIDDEN or (key.startswith("__") and key.endswith("__"))
