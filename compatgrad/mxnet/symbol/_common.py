"""Simplified copies of graphs: without repeated nodes, or without the casts of mixed precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._graph import Entry, Node, auxiliary, order

__all__ = ["without_casts", "without_repetitions"]

_DRAWS = ("Dropout", "RNN", "Custom", "_shuffle")  # not merged: each draws random numbers, or may have side effects
_CASTS = ("amp_cast", "amp_multicast")
_PREFIXES = ("_random_", "_sample_", "sample_")


def _repeats(node: Node) -> bool:
    assert node.op is not None
    return not node.subgraphs and node.op not in _DRAWS and not node.op.startswith(_PREFIXES)


def without_repetitions(symbol: Any) -> Any:
    """The symbol with nodes merged that apply the same operator, with the same parameters, to the same inputs."""
    nodes = order(symbol._outputs)
    states = auxiliary(nodes)
    heads = {id(n) for n, _ in symbol._outputs}  # results of the graph are not merged
    kept: dict[int, Node] = {}
    known: dict[Any, Node] = {}

    def entry(e: Entry) -> Entry:
        return kept[id(e[0])], e[1]

    for node in nodes:
        if node.op is None:
            kept[id(node)] = node
            continue
        inputs = [entry(e) for e in node.inputs]
        key = (node.op, tuple((id(n), i) for n, i in inputs), tuple(sorted(node.params.items())))
        once = id(node) in heads or any(id(n) in states for n, _ in node.inputs) or not _repeats(node)
        if key in known and not once:
            kept[id(node)] = known[key]
        else:
            params, attrs = dict(node.params), dict(node.attrs)
            known[key] = kept[id(node)] = Node(node.op, node.name, inputs, params, attrs, node.subgraphs)
    return type(symbol)([entry(e) for e in symbol._outputs])


def without_casts(heads: Sequence[Entry]) -> list[Entry]:
    """The graph without amp_cast and amp_multicast, except those whose results are heads."""
    nodes = order(heads)
    if not any(node.op in _CASTS for node in nodes):
        return list(heads)
    ends = {id(node) for node, _ in heads}
    kept: dict[tuple[int, int], Entry] = {}
    for node in nodes:
        inputs = [kept[id(n), i] for n, i in node.inputs]
        new = node
        if node.op is not None:
            new = Node(node.op, node.name, inputs, dict(node.params), dict(node.attrs), node.subgraphs)
        for i in range(len(node.output_names()) if node.op else 1):
            own = (new, i)
            kept[id(node), i] = own if node.op not in _CASTS else inputs[i]
            if id(node) in ends:
                kept[id(node), -1 - i] = own
    return [kept[id(node), -1 - i] for node, i in heads]
