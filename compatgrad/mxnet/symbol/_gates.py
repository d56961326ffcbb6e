"""Finds the gates of LSTM and GRU cells when a graph is run, so that one op computes what many nodes describe.

The graph itself does not change. The cells of Gluon, of `mx.rnn`, and of files that the original wrote are found, if no
other node reads the results between the gates and the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..ndarray._gates import gates_fit
from ..ndarray._operator import op, parse
from ..ndarray.ndarray import NDArray
from ._facts import canonical
from ._graph import Entry, Node

__all__ = ["Gates", "find_gates"]


class Gates(NamedTuple):
    """The nodes of a cell's step, in order, and the function that replaces them."""

    nodes: list[Node]
    place: Node  # the node in whose turn all of them run: after all inputs, before all readers
    inputs: tuple[Entry, ...]
    outputs: tuple[Node, ...]
    compute: Callable[..., tuple[NDArray, ...] | None]  # gives None if the op does not support the arrays


def find_gates(nodes: Sequence[Node], heads: Sequence[Entry]) -> list[Gates]:
    """The gates among the nodes of a graph; no node belongs to two of them."""
    readers: dict[int, list[int]] = {}
    for node in nodes:
        for n, _ in node.inputs:
            readers.setdefault(id(n), []).append(id(node))
    for n, _ in heads:
        readers.setdefault(id(n), []).append(0)  # 0 stands for the caller
    position = {id(n): k for k, n in enumerate(nodes)}
    found = []
    for node in nodes:
        for match in (_lstm(node), _gru(node)):
            if match is None:
                continue
            inside = set(map(id, match.nodes))
            hidden = inside - set(map(id, match.outputs))
            if all(reader in inside for n in hidden for reader in readers[n]):
                found.append(match._replace(nodes=sorted(match.nodes, key=lambda n: position[id(n)])))
    return found


# ---- patterns of nodes ----------------------------------------------------------------------------------------------
_KINDS = {
    "sigmoid": "sigmoid", "tanh": "tanh", "elemwise_add": "add", "broadcast_add": "add", "elemwise_mul": "mul",
    "broadcast_mul": "mul", "elemwise_sub": "sub", "broadcast_sub": "sub", "SliceChannel": "slice",
    "ones_like": "ones_like",
}  # fmt: skip


def _kind(node: Node) -> str | None:
    if node.op is None:
        return None
    name = canonical(node.op)
    if name == "Activation":
        name = node.params.get("act_type", "")
    elif name == "_rminus_scalar" and parse(node.params.get("scalar", "0")) == 1:
        return "one_minus"
    return _KINDS.get(name)


def _under(entry: Entry, kind: str) -> Entry | None:
    """The input of a node of this kind, which has one input; None for another kind."""
    return entry[0].inputs[0] if _kind(entry[0]) == kind else None


def _both(entry: Entry, kind: str) -> Iterator[tuple[Entry, Entry]]:
    """The two operands of a node of this kind; in both orders where it is commutative."""
    if _kind(entry[0]) != kind:
        return
    a, b = entry[0].inputs
    yield a, b
    if kind != "sub":
        yield b, a


def _slice(entry: Entry, parts: int) -> Node | None:
    """The SliceChannel node, with `parts` parts along the second axis, of which the entry is one; else None."""
    node = entry[0]
    if _kind(node) != "slice" or int(parse(node.params.get("num_outputs", "1"))) != parts:
        return None
    plain = parse(node.params.get("axis", "1")) == 1 and not parse(node.params.get("squeeze_axis", "False"))
    return node if plain else None


# ---- the cells ------------------------------------------------------------------------------------------------------
def _lstm(root: Node) -> Gates | None:
    """Matches s(o) tanh(c) with c = s(f) memory + s(i) tanh(g), s being the sigmoid; the gates may have any order."""
    for out, shown in _both((root, 0), "mul"):
        o, cell = _under(out, "sigmoid"), _under(shown, "tanh")
        if o is None or cell is None:
            continue
        for kept, new in _both(cell, "add"):
            for forget, memory in _both(kept, "mul"):
                for enter, fresh in _both(new, "mul"):
                    f, i, g = _under(forget, "sigmoid"), _under(enter, "sigmoid"), _under(fresh, "tanh")
                    if f is None or i is None or g is None or len({id(e[0]) for e in (f, i, g, o)}) != 1:
                        continue
                    cut = _slice(o, 4)
                    letters = {f[1]: "f", i[1]: "i", g[1]: "a", o[1]: "o"}
                    if cut is None or len(letters) != 4:
                        continue
                    between = (cut, out[0], forget[0], enter[0], fresh[0], kept[0], new[0], shown[0])
                    order = "".join(letters[k] for k in range(4))
                    inputs = (cut.inputs[0], memory)
                    return Gates([*between, cell[0], root], cell[0], inputs, (cell[0], root), _run_lstm(order))
    return None


def _run_lstm(order: str) -> Callable[..., tuple[NDArray, ...] | None]:
    def run(gates: NDArray, memory: NDArray) -> tuple[NDArray, ...] | None:
        return op.lstm(memory, gates, order=order) if _takes(memory, (gates,), 4) else None

    return run


def _gru(root: Node) -> Gates | None:
    """Matches (1 - z) n + z before, or n + z (before - n), with n = tanh(x + r s)."""
    for first, second in _both((root, 0), "add"):
        for z, before, n, between in (*_mixed(first, second), *_moved(first, second)):
            match = _new_state(n)
            if match is None:
                continue
            of_input, of_state, inside = match
            update = _sum_gate(z, of_input, of_state, 1)
            if update is None:
                continue
            nodes = [*{id(n): n for n in (*between, *inside, *update, root)}.values()]
            inputs = (of_input.inputs[0], of_state.inputs[0], before)
            return Gates(nodes, root, inputs, (root,), _run_gru)
    return None


def _mixed(rest: Entry, kept: Entry) -> Iterator[tuple[Entry, Entry, Entry, tuple[Node, ...]]]:
    for share, n in _both(rest, "mul"):
        z = _under(share, "one_minus")
        between: tuple[Node, ...] = (rest[0], kept[0], share[0])
        if z is None and _kind(share[0]) == "sub":
            one, z = share[0].inputs
            if _under(one, "ones_like") != z:
                continue
            between = (*between, one[0])
        for other, before in _both(kept, "mul"):
            if z is not None and other == z:
                yield z, before, n, between


def _moved(n: Entry, step: Entry) -> Iterator[tuple[Entry, Entry, Entry, tuple[Node, ...]]]:
    for z, difference in _both(step, "mul"):
        for before, other in _both(difference, "sub"):
            if other == n:
                yield z, before, n, (step[0], difference[0])


def _new_state(n: Entry) -> tuple[Node, Node, tuple[Node, ...]] | None:
    """Matches tanh(x + r s): the SliceChannel nodes of the input's and of the state's gates, and all nodes between."""
    total = _under(n, "tanh")
    for x, product in _both(total, "add") if total else ():
        for r, s in _both(product, "mul"):
            of_input, of_state = _slice(x, 3), _slice(s, 3)
            if of_input is None or of_state is None or (x[1], s[1]) != (2, 2):
                continue
            reset = _sum_gate(r, of_input, of_state, 0)
            if reset is not None:
                return of_input, of_state, (n[0], total[0], product[0], of_input, of_state, *reset)  # type: ignore[index]
    return None


def _sum_gate(gate: Entry, of_input: Node, of_state: Node, part: int) -> tuple[Node, Node] | None:
    """Matches sigmoid(x + s), where x and s are the same part of both slices: its two nodes."""
    total = _under(gate, "sigmoid")
    for x, s in _both(total, "add") if total else ():
        if x == (of_input, part) and s == (of_state, part):
            return gate[0], total[0]  # type: ignore[index]
    return None


def _run_gru(of_input: NDArray, of_state: NDArray, before: NDArray) -> tuple[NDArray, ...] | None:
    return (op.gru(before, of_input, of_state),) if _takes(before, (of_input, of_state), 3) else None


def _takes(state: NDArray, gates: Sequence[Any], count: int) -> bool:
    return all(x.stype == "default" for x in (state, *gates)) and all(gates_fit(g, state, count) for g in gates)
