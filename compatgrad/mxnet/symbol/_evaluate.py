"""Running a graph on NDArrays: node after node, by the functions of `mx.nd`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import MXNetError
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from ._compose import implementation, parameters
from ._facts import inputs_of, is_variadic, n_visible, needed_inputs
from ._graph import Entry, Node, order

__all__ = ["evaluate", "run_node"]

_IGNORED = frozenset(("num_args", "workspace", "cudnn_tune", "cudnn_off", "cudnn_algo_verbose"))


def _call_of(node: Node) -> tuple[Any, list[str] | None, tuple[str, ...], dict[str, Any]]:
    """The function, names of the node's inputs (None: as they come), all its inputs, and parsed parameters."""
    op = node.op
    assert op is not None
    run = implementation(op)
    if op == "Custom":
        return run, None, (), dict(node.params)
    params = {k: parse(v) for k, v in node.params.items() if k not in _IGNORED}
    known = parameters(op)
    if known is not None:
        params = {k: v for k, v in params.items() if k in known}
    return run, None if is_variadic(op) else needed_inputs(op, node.params), inputs_of(op), params


def run_node(node: Node, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The visible outputs of an operator of a graph; MXNetError names the node where it fails."""
    if node.call is None:
        node.call = _call_of(node)
    run, names, all_names, params = node.call
    args: list[Any] = list(inputs)
    if names is not None and len(names) < len(all_names):  # optional ones between may be missing
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


def evaluate(outputs: Sequence[Entry], arrays: dict[str, NDArray]) -> list[NDArray]:
    """The outputs of a graph from arrays by names of variables."""
    values: dict[int, list[NDArray]] = {}
    nodes = order(outputs)
    uses: dict[int, int] = {}
    for node in nodes:
        for n, _ in node.inputs:
            uses[id(n)] = uses.get(id(n), 0) + 1
    for n, _ in outputs:
        uses[id(n)] = uses.get(id(n), 0) + 1
    for node in nodes:
        if node.op is None:
            x = arrays.get(node.name)
            if not isinstance(x, NDArray):
                what = "is missing" if x is None else f"must be an NDArray, got {type(x)}"
                raise MXNetError(f"argument {node.name} {what}")
            values[id(node)] = [x]
            continue
        values[id(node)] = run_node(node, [values[id(n)][i] for n, i in node.inputs])
        for n, _ in node.inputs:  # what nobody reads any more is let go
            uses[id(n)] -= 1
            if not uses[id(n)]:
                values.pop(id(n), None)
    return [values[id(n)][i] for n, i in outputs]
