"""`with_casts`: inserts casts into a graph, so that some of its operators run in float16."""

from __future__ import annotations

from typing import Any

from ...symbol import Symbol
from ...symbol._facts import aux_inputs
from ...symbol._graph import Entry, Node, order

__all__ = ["with_casts"]

_NUMBER = {"float32": "0", "float16": "2"}


class _Casts:
    """The casts of the new graph, by entry (an output of a node) and dtype, so that nothing is cast twice."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int, str], Entry] = {}
        self.types: dict[int, str] = {}  # id of a node -> dtype of its outputs, where that is known

    def known(self, entry: Entry, dtype: str) -> Entry | None:
        """The entry if it has this dtype, else its earlier cast to this dtype, else None."""
        if self.types.get(id(entry[0])) == dtype:
            return entry
        return self._made.get((id(entry[0]), entry[1], dtype))

    def cast(self, entry: Entry, dtype: str) -> Entry:
        """The entry, cast to this dtype where it is not known to have it."""
        found = self.known(entry, dtype)
        if found is not None:
            return found
        node, i = entry
        what = node.name if node.op is None else node.output_names()[i]
        cast = Node("amp_cast", f"{what}_amp_cast_{dtype}", [entry], {"dtype": dtype})
        self.types[id(cast)] = dtype
        self._made[id(node), i, dtype] = (cast, 0)
        return cast, 0

    def widest(self, entries: list[Entry]) -> list[Entry]:
        """The entries in one dtype: float16 if all are float16, float32 if all dtypes are known; else amp_multicast
        finds the widest dtype when the graph runs.
        """
        found = {self.types.get(id(node)) for node, _ in entries}
        if found == {"float16"}:
            return entries
        if None not in found:
            return [self.cast(e, "float32") for e in entries]
        node, i = entries[0]
        name = f"{node.name if node.op is None else node.output_names()[i]}_amp_multicast"
        cast = Node("amp_multicast", name, entries, {"num_outputs": str(len(entries))})
        return [(cast, i) for i in range(len(entries))]


def with_casts(
    sym: Symbol,
    half: set[str],
    single: set[str],
    widest: set[str],
    conditional: list[tuple[str, str, list[str]]],
    excluded: set[str],
    params: set[str],
    cast_params: bool,
) -> Symbol:
    """A copy of the graph in which the operators of `half` get float16, those of `single` float32;
    results are float32.

    excluded: names of nodes that stay in float32. params: names of variables that are parameters. cast_params:
    parameters that only float16 operators read are declared float16 instead of cast.
    """
    nodes = order(sym._outputs)
    casts = _Casts()
    halves = _read_in_half_only(nodes, half, excluded, params) if cast_params else set()
    new: dict[int, Node] = {}
    for node in nodes:
        copy = Node(node.op, node.name, [], dict(node.params), dict(node.attrs), node.subgraphs)
        new[id(node)] = copy
        entries = [(new[id(n)], i) for n, i in node.inputs]
        if node.op is None:
            if node.name in params:
                dtype = "float16" if node.name in halves else "float32"
                copy.attrs["__dtype__"] = _NUMBER[dtype]
                if dtype == "float16":
                    casts.types[id(copy)] = dtype
            continue
        states = aux_inputs(node.op, node.params)

        def all_cast(dtype: str, entries: list[Entry] = entries, states: Any = states) -> list[Entry]:
            # auxiliary states are never cast; variables are float32 already
            there = [i in states or (dtype == "float32" and e[0].op is None) for i, e in enumerate(entries)]
            return [e if as_it_is else casts.cast(e, dtype) for e, as_it_is in zip(entries, there, strict=True)]

        in_single = node.op in single or any(
            node.op == op and node.params.get(key) in values for op, key, values in conditional
        )
        if node.name in excluded or in_single:
            copy.inputs = all_cast("float32")
            casts.types[id(copy)] = "float32"
        elif node.op in half:
            copy.inputs = all_cast("float16")
            casts.types[id(copy)] = "float16"
        else:
            copy.inputs = casts.widest(entries) if node.op in widest and len(entries) > 1 else entries
            first = casts.types.get(id(copy.inputs[0][0])) if copy.inputs else None
            if first is not None and node.op not in ("Cast", "cast"):
                casts.types[id(copy)] = first
    heads = [(new[id(n)], i) for n, i in sym._outputs]
    return Symbol([casts.cast(e, "float32") for e in heads])


def _read_in_half_only(nodes: list[Node], half: set[str], excluded: set[str], params: set[str]) -> set[str]:
    found, others = set(), set()
    for node in nodes:
        states = aux_inputs(node.op, node.params) if node.op else ()
        for i, (n, _) in enumerate(node.inputs):
            if n.op is None and n.name in params:
                low = node.op in half and node.name not in excluded and i not in states
                (found if low else others).add(n.name)
    return found - others
