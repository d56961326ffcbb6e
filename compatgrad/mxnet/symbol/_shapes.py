"""Infers the shapes in a graph: known shapes are propagated forward and backward until nothing new is found."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import autograd
from .._custom_op import prop_of
from ..base import MXNetError
from ..ndarray import _late
from ..ndarray._operator import parse
from ..ndarray._random_state import unmoved
from ..ndarray.ndarray import NDArray
from ..util import is_np_shape
from ._facts import FUSED
from ._graph import Entry, Node, auxiliary, inner_inputs, order, parsed
from ._np_operators import entries
from ._run import open_ranges, run_node
from ._shape_rules import DECIDING, RULES, Mismatch, Shape, is_known, meet

__all__ = ["infer_shape"]

_DRAWING = frozenset(
    (e.op for e in entries.values() if e.function.startswith("random.")),
) | {"Dropout", "_shuffle", "_npi_bernoulli", "_npi_uniform_n", "_npi_normal_n"}

Key = tuple[int, int]  # a node and the number of an output


def _custom_shapes(node: Node, ins: list[Shape | None]) -> tuple[list[Shape | None], list[Shape | None]]:
    """Shapes of inputs and results from the custom operator's infer_shape, if enough is known.

    The operator itself is not run, because it may draw random numbers, print, or count its calls.
    """
    prop = prop_of(node.params)
    n = len(prop.list_arguments())
    if ins and ins[0] is None:
        return ins, []
    found = prop.infer_shape([list(s) if s is not None else [] for s in ins[:n]])
    states = found[2] if len(found) > 2 else ()
    read, written = ([tuple(int(d) for d in s) for s in part] for part in ((*found[0], *states), found[1]))
    return read, written if all(is_known(s) for s in ins) else []


def _outputs(node: Node, shapes: list[Shape]) -> list[Shape]:
    """Shapes of the results, found by running the operator: on meta tensors, on zeros if it reads values, or on ones
    if it refuses zeros.
    """
    with autograd.pause(), _late.at_once(), unmoved() if _draws(node.op or "") else contextlib.nullcontext():
        for make in (lambda s: torch.empty(s, device="meta"), torch.zeros):
            with contextlib.suppress(Exception):  # the last run, below, raises the clearest error
                return [y.shape for y in run_node(node, [NDArray(make(s)) for s in shapes])]
        # quantized operators have 8-bit arrays first, then the ends of their ranges
        arrays = len(shapes) // 3 if (node.op or "").startswith("_contrib_quantized_") else 0
        given = [torch.ones(s, dtype=torch.int8 if i < arrays else None) for i, s in enumerate(shapes)]
        return [y.shape for y in run_node(node, [NDArray(t) for t in given])]


def _draws(op: str) -> bool:
    """Whether an operator draws random numbers."""
    return op.startswith(("_random_", "_sample_", "sample_", "random_")) or op in _DRAWING


class _Search:
    """The known shapes of a graph, and the search for more."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = [n for n in nodes if n.op is not None]
        self.known: dict[Key, Shape | None] = {}
        self.run: set[int] = set()  # ids of nodes all of whose shapes are known
        self.params: dict[int, dict[str, Any]] = {}

    def visit(self, node: Node) -> bool:
        """Applies an operator's rule; returns whether a shape changed."""
        if id(node) in self.run:
            return False
        reads = [(id(n), i) for n, i in node.inputs]
        writes = [(id(node), i) for i in range(node.n_visible)]
        ins, outs = [self.known.get(k) for k in reads], [self.known.get(k) for k in writes]
        before = [*ins, *outs]
        try:
            self._apply(node, ins, outs)
            news = False
            for key, shape, old in zip((*reads, *writes), (*ins, *outs), before, strict=False):
                if shape == old:
                    continue
                if is_known(old) and node.op in DECIDING and key in reads[1:]:
                    # not a change: two operators that share a variable would replace each other's shape forever
                    self.known[key] = shape
                else:
                    new = meet(self.known.get(key), shape)  # an array may be read twice
                    news |= new != self.known.get(key)
                    self.known[key] = new
        except Mismatch as e:
            at = f"input {node.inputs[e.place[1]][0].name}: " if e.place and e.place[0] is ins else ""
            raise MXNetError(f"Error in operator {node.name}: {at}{e}") from None
        except (KeyError, IndexError) as e:
            raise MXNetError(f"Error in operator {node.name}: {node.op}: missing or wrong parameter {e}") from None
        return news

    def _apply(self, node: Node, ins: list[Shape | None], outs: list[Shape | None]) -> None:
        rule: Callable[..., None] | None = RULES.get(node.op or "")
        if node.subgraphs:
            self._look_inside(node, ins, outs)
            return
        if node.op == "Custom":
            read, written = _custom_shapes(node, ins)
            news = any(s != f for s, f in zip(ins, read, strict=False))
            ins[:] = [meet(s, f) for s, f in zip(ins, read, strict=False)]
            if news:  # with the inferred inputs, infer_shape may know the results
                written = _custom_shapes(node, ins)[1]
            outs[: len(written)] = [meet(s, f) for s, f in zip(outs, written, strict=False)]
        elif rule is not None:
            if id(node) not in self.params:
                self.params[id(node)] = {k: parse(v) for k, v in node.params.items()}
            rule(ins, outs, self.params[id(node)])
        if all(map(is_known, ins)):
            known = all(map(is_known, outs))
            open_shapes = ("_zeros", "_ones", "_full", "Custom")
            if not known and node.op not in open_shapes and not open_ranges([node]):
                found = _outputs(node, ins)  # type: ignore[arg-type]
                outs[:] = [meet(s, f) for s, f in zip(outs, found, strict=False)]
                known = all(map(is_known, outs))
            if known:
                self.run.add(id(node))

    def _look_inside(self, node: Node, ins: list[Shape | None], outs: list[Shape | None]) -> None:
        """Infers shapes from the graphs of a loop or a branch."""
        p = parsed(node)
        sliced = len(p["in_data_locs"]) if node.op == "_foreach" else 0
        n_out = p.get("num_out_data", 0)
        graphs = inner_inputs(node)
        for k, (heads, places) in enumerate(graphs):
            nodes = order(heads)
            variables = [n for n in nodes if n.op is None]
            inner = _Search(nodes)
            for variable, i in zip(variables, places, strict=True):
                shape = ins[i]
                if shape is not None and i < sliced:
                    shape = shape[1:] or (1,)
                elif shape is None and "__shape__" in variable.attrs:
                    shape = _given(parse(variable.attrs["__shape__"]), is_np_shape())
                inner.known[id(variable), 0] = shape
            inner.search()
            for variable, i in zip(variables, places, strict=True):
                found = inner.known.get((id(variable), 0))
                if i >= sliced:
                    ins[i] = meet(ins[i], found)
                elif found is not None and (ins[i] is None or len(ins[i] or ()) > 1):
                    ins[i] = meet(ins[i], (-1, *found))
            if k == 0 and len(graphs) > 1:  # the graph of the condition, which gives no output
                continue
            length = p.get("max_iterations", -1)
            for x in ins[:sliced]:
                length = max(length, x[0] if x is not None else -1)
            for j, (n, i) in enumerate(heads):
                found = inner.known.get((id(n), i))
                if j < n_out and found is not None:
                    found = (int(length), *found)
                outs[j] = meet(outs[j], found)
        if node.op in FUSED:
            for shapes, first in ((ins, len(graphs[0][1])), (outs, 1)):
                shapes[first:] = [meet(s, (1,)) for s in shapes[first:]]  # the ends of ranges
        if all(is_known(s) for s in (*ins, *outs)):
            self.run.add(id(node))

    def search(self) -> None:
        """Visits all nodes, forward and backward in turn, until nothing new is found."""
        order = self.nodes
        while [node for node in order if self.visit(node)] and len(self.run) < len(self.nodes):
            order = order[::-1]


def _given(shape: Any, np_shape: bool) -> Shape | None:
    """A user's shape, in which a length of 0 (with NumPy's shapes -1) is unknown; None for no shape."""
    if shape is None or (not np_shape and not len(shape)):
        return None
    return tuple(-1 if n < 0 or (n == 0 and not np_shape) else int(n) for n in shape)


def _shown(shape: Shape | None, np_shape: bool) -> Shape | None:
    if np_shape:
        return shape
    return () if shape is None else tuple(0 if n < 0 else n for n in shape)


def infer_shape(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any], partial: bool) -> tuple[Any, Any, Any]:
    """See Symbol.infer_shape."""
    if args and kwargs:
        raise ValueError("infer_shape: give shapes either by position or by name, not both")
    np_shape = is_np_shape()
    nodes = symbol._nodes()
    states = auxiliary(nodes)
    variables = [n for n in nodes if n.op is None]
    arguments = [n for n in variables if id(n) not in states]
    names = [n.name for n in variables]
    given = kwargs or dict(zip((n.name for n in arguments), args, strict=False))
    search = _Search(nodes)
    for k in given:
        if k not in names:
            raise MXNetError(f"infer_shape: there is no argument {k}; the arguments are {names}")
    for n in variables:
        shape = _given(given.get(n.name), np_shape)
        if shape is None and "__shape__" in n.attrs:
            shape = _given(parse(n.attrs["__shape__"]), np_shape)
        if shape is not None:
            search.known[id(n), 0] = shape
    search.search()
    result = (
        [search.known.get((id(n), 0)) for n in arguments],
        [search.known.get((id(n), i)) for n, i in symbol._outputs],
        [search.known.get((id(n), 0)) for n in variables if id(n) in states],
    )
    if partial:
        return tuple([_shown(s, np_shape) for s in part] for part in result)  # type: ignore[return-value]
    if not all(is_known(s) for part in result for s in part):
        unknown = [
            f"{n.name}: {_shown(s, np_shape)}" for n, s in zip(arguments, result[0], strict=True) if not is_known(s)
        ]
        warnings.warn(
            "infer_shape: cannot decide the shapes of these arguments, please give them:\n\t"
            + "\n\t".join(unknown[:10]),
            stacklevel=3,
        )
        return None, None, None
    return result


def shapes_of(wanted: list[Node], heads: Sequence[Entry], shapes: dict[str, tuple[int, ...]]) -> list[Shape | None]:
    """The shapes of nodes, inferred from those of variables by name; None for unknown ones."""
    nodes = order(heads)
    search = _Search(nodes)
    search.known.update({(id(n), 0): shapes[n.name] for n in nodes if n.op is None and n.name in shapes})
    search.search()
    found = [search.known.get((id(n), 0)) for n in wanted]
    return [shape if is_known(shape) else None for shape in found]
