"""Runs a node of a graph on NDArrays, by the functions of `mx.nd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .._custom_op import of_node
from ..base import MXNetError
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from ._compose import IGNORED, implementation, parameters
from ._facts import inputs_of, is_variadic, n_visible, needed_inputs, takes_optional
from ._graph import Node

__all__ = ["LOOPS", "open_ranges", "run_node"]

# operators that run graphs, by name; `_loops` and `_fused` register theirs
LOOPS: dict[str, Callable[[Node], Callable[..., list[NDArray]]]] = {}


def _call_of(node: Node) -> tuple[Any, list[str] | None, tuple[str, ...], dict[str, Any]]:
    """(function, names of the node's inputs or None for any, names of all inputs, parsed parameters)."""
    name = node.op
    assert name is not None
    if node.subgraphs:
        return LOOPS[name](node), None, (), {}
    run = implementation(name)
    if name == "Custom":
        return partial(of_node, id(node)), None, (), dict(node.params)
    params = {k: parse(v) for k, v in node.params.items() if k not in IGNORED}
    known = parameters(name)
    if known is not None:
        params = {k: v for k, v in params.items() if k in known}
    names = None if is_variadic(name) or takes_optional(name) else needed_inputs(name, node.params)
    return run, names, inputs_of(name), params


def run_node(node: Node, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The visible outputs of an operator of a graph; MXNetError names the node where it fails."""
    if node.call is None:
        node.call = _call_of(node)
    run, names, all_names, params = node.call
    args: list[Any] = list(inputs)
    if names is not None and len(names) < len(all_names):  # optional inputs between others may be missing
        by_name = dict(zip(names, inputs, strict=False))
        args = [by_name.get(n) for n in all_names] + list(inputs[len(names) :])
        while args and args[-1] is None:
            args.pop()
    try:
        y = run(*args, **params)
    except MXNetError as e:
        raise MXNetError(f"Error in operator {node.name}: {e}") from None
    except (TypeError, AssertionError) as e:
        raise MXNetError(f"Error in operator {node.name} ({node.op} of {[x.shape for x in inputs]}): {e}") from e
    ys = list(y) if isinstance(y, (list, tuple)) else [y]
    return ys if len(ys) == 1 else ys[: n_visible(node.op or "", node.params)]


def open_ranges(nodes: Sequence[Node]) -> list[Node]:
    """Nodes of ranges without an end, and of random numbers without a shape; their readers determine the shape."""
    return [n for n in nodes if n.op is not None and _is_open(n.op, n.params)]


def _is_open(name: str, params: dict[str, Any]) -> bool:
    if name == "_arange":
        return bool(parse(params.get("infer_range"))) and parse(params.get("stop")) is None
    return name.startswith("_random_") and not inputs_of(name) and not parse(params.get("shape"))
