"""The outputs of operators that split an array as nodes of their own, so that every node of a graph has one result."""

from __future__ import annotations

from collections.abc import Sequence

from ._graph import Entry, Node, order

__all__ = ["PART", "apart"]

PART = "__part__"  # the attribute of such a node that tells which output it is


def apart(heads: Sequence[Entry]) -> list[Entry]:
    """The heads of a graph with the same results in which each output of a SliceChannel is a node."""
    made: dict[tuple[int, int], Node] = {}

    def entry(old: Entry) -> Entry:
        node, i = old
        if node.op != "SliceChannel":
            return made[id(node), 0], i
        if (id(node), i) not in made:
            made[id(node), i] = Node(node.op, node.name, [entry(e) for e in node.inputs], node.params, {PART: str(i)})
        return made[id(node), i], 0

    for node in order(heads):
        if node.op is None:
            made[id(node), 0] = node
        elif node.op != "SliceChannel":
            inputs = [entry(e) for e in node.inputs]
            made[id(node), 0] = Node(node.op, node.name, inputs, node.params, node.attrs, node.subgraphs)
    return [entry(e) for e in heads]
