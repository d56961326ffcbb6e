"""Types of a graph's arrays: from the given ones, along the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import MXNetError
from ..ndarray._operator import parse
from ._facts import needed_inputs
from ._graph import auxiliary

__all__ = ["infer_type"]

_NUMBERS = {0: "float32", 1: "float64", 2: "float16", 3: "uint8", 4: "int32", 5: "int8", 6: "int64", 7: "bool"}
_STATES = frozenset(("gamma", "beta", "moving_mean", "moving_var"))


def infer_type(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """See Symbol.infer_type."""
    nodes = symbol._nodes()
    states = auxiliary(nodes)
    variables = [n for n in nodes if n.op is None]
    arguments = [n for n in variables if id(n) not in states]
    given = kwargs or dict(zip((n.name for n in arguments), args, strict=False))
    names = {n.name for n in variables}
    for k in given:
        if k not in names:
            raise MXNetError(f"infer_type: there is no argument {k}; the arguments are {[n.name for n in arguments]}")
    types: dict[int, Any] = {}
    for n in variables:
        if given.get(n.name) is not None:
            types[id(n)] = np.dtype(given[n.name]).type
        elif n.attrs.get("__dtype__", "-1") != "-1":
            types[id(n)] = np.dtype(_NUMBERS[int(n.attrs["__dtype__"])]).type
    first = next(iter(types.values()), np.float32)
    for node in nodes:
        if node.op is None:
            continue
        inputs = [n for n, _ in node.inputs]
        dtype = next((types[id(n)] for n in inputs if id(n) in types), None) or first
        if node.op == "Embedding":
            weight = inputs[1]
            dtype = types.setdefault(id(weight), np.dtype(parse(node.params.get("dtype", "float32"))).type)
        labels = needed_inputs(node.op, node.params)
        for i, n in enumerate(inputs):
            half_states = dtype is np.float16 and node.op == "BatchNorm" and i < len(labels) and labels[i] in _STATES
            types.setdefault(id(n), np.float32 if half_states else dtype)
        if node.op in ("Cast", "one_hot", "_zeros", "_ones", "_full", "_arange", "_eye") and "dtype" in node.params:
            dtype = np.dtype(parse(node.params["dtype"])).type
        types[id(node)] = dtype
    for n in variables:
        types.setdefault(id(n), first)
    return (
        [types[id(n)] for n in arguments],
        [types[id(n)] for n, _ in symbol._outputs],
        [types[id(n)] for n in variables if id(n) in states],
    )
