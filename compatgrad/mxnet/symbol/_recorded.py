"""The recorded history of an NDArray as a symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad import _C

from .. import autograd
from .._engine_names import CONVERT, LAYERS, NAMES
from ..base import MXNetError
from ..ndarray.ndarray import NDArray
from ._graph import Entry, Node, text
from .symbol import Symbol

__all__ = ["get_symbol", "symbol_of"]


def as_operator(function: Any, inputs: list[Any]) -> tuple[str, dict[str, str]]:
    name = function.op_name
    if name is None:  # defined in Python
        return "_CustomFunction", {"name": getattr(function, "label", type(function).__name__)}
    params = dict(function.op_params)
    if name == "linear":
        params = {"num_hidden": inputs[1].shape[0], "no_bias": len([x for x in inputs if x is not None]) < 3}
        return LAYERS[name], {k: text(v) for k, v in params.items()}
    if name == "split":
        params = {"axis": params["axis"], "num_outputs": len(params["indices"]) + 1}
        return LAYERS[name], {k: text(v) for k, v in params.items()}
    if name in ("convolution", "deconvolution"):
        weight = inputs[1].shape
        filters = weight[0] if name == "convolution" else weight[1]
        found = {
            "kernel": tuple(weight[2:]),
            "num_filter": filters,
            "no_bias": len([x for x in inputs if x is not None]) < 3,
        }
        names = {"stride": "stride", "pad": "pad", "dilate": "dilate", "dilation": "dilate", "groups": "num_group"}
        found.update({new: params[old] for old, new in names.items() if old in params})
        return LAYERS[name], {k: text(v) for k, v in found.items()}
    if name == "matmul" and len(inputs[0].shape) == 3:
        params = {"transpose_a": params["transa"], "transpose_b": params["transb"]}
        return "batch_dot", {k: text(v) for k, v in params.items()}
    if name in CONVERT:
        name, params = CONVERT[name](params)
    elif name in NAMES:
        name, params = NAMES[name], {}
    return name, {k: text(v) for k, v in params.items() if v is not None}


def _steps_of_lstm(node: Callable[..., Entry], inputs: list[Entry], params: dict[str, Any]) -> list[Entry]:
    """The cell's memory and output as nodes, composed like the gates of Gluon's LSTMCell."""
    memory, gates = inputs
    cut, _ = node("SliceChannel", gates, num_outputs="4")
    gate = {letter: node("tanh" if letter == "a" else "sigmoid", (cut, k)) for k, letter in enumerate(params["order"])}
    kept, new = node("elemwise_mul", gate["f"], memory), node("elemwise_mul", gate["i"], gate["a"])
    cell = node("elemwise_add", kept, new)
    return [cell, node("elemwise_mul", gate["o"], node("tanh", cell))]


def _steps_of_gru(node: Callable[..., Entry], inputs: list[Entry], params: dict[str, Any]) -> list[Entry]:
    before, *gates = inputs
    (x, _), (s, _) = (node("SliceChannel", g, num_outputs="3") for g in gates)
    r, z = (node("sigmoid", node("elemwise_add", (x, k), (s, k))) for k in range(2))
    n = node("tanh", node("elemwise_add", (x, 2), node("elemwise_mul", r, (s, 2))))
    return [node("elemwise_add", n, node("elemwise_mul", z, node("elemwise_sub", before, n)))]


# ops of the engine that several operators of MXNet replace
_SEVERAL = {"lstm": _steps_of_lstm, "gru": _steps_of_gru}


def symbol_of(x: NDArray) -> Symbol:
    """The computation of an array inside `autograd.record()` as a symbol.

    Marked arrays are variables named var0, var1, …; other ones are named null0, null1, ….

    Args:
        x: NDArray of a recorded graph.

    Returns:
        Symbol.

    Raises:
        TypeError: `x` is no array.
        mxnet.base.MXNetError: `x` is not in a recorded graph.

    Example:
        >>> x = nd.ones(2)
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = nd.exp(x) * 2
        >>> mx.sym.symbol_of(y).list_arguments()
        ['var0']

    Source: what `mxnet.autograd.get_symbol` of MXNet 1.9.1 gives.
    """
    if not _C.in_graph(x):
        raise MXNetError("get_symbol: x is not in a computational graph: it was not computed inside autograd.record()")
    variables: dict[Any, Node] = {}
    functions: dict[Any, list[Entry]] = {}  # function -> the entries of its outputs
    counts = {"var": 0, "null": 0, "node_": 0}

    def fresh(kind: str) -> str:
        counts[kind] += 1
        return f"{kind}{counts[kind] - 1}"

    def leaf(v: Any) -> Node:
        if v not in variables:
            variables[v] = Node(None, fresh("var" if v.requires_grad else "null"))
        return variables[v]

    def entry(v: Any) -> Entry:
        function = v.creator_node
        if function is None:
            return leaf(v), 0
        outputs = [ref() for ref in function.outputs]
        return functions[function][next((i for i, y in enumerate(outputs) if y is v), 0)]

    def node(op: str, *inputs: Entry, **params: str) -> Entry:
        return Node(op, fresh("node_"), inputs, params), 0

    # a depth-first search without recursion, because histories may be long
    stack: list[tuple[Any, bool]] = [(x.node, False)]
    while stack:
        v, ready = stack.pop()
        function = v.creator_node
        if function is None:
            leaf(v)
            continue
        if function in functions:
            continue
        inputs = [i for i in function.inputs or () if i is not None]
        if ready and function.op_name in _SEVERAL:
            functions[function] = _SEVERAL[function.op_name](node, [entry(i) for i in inputs], function.op_params)
        elif ready:
            op, params = as_operator(function, inputs)
            entries = [entry(i) for i in inputs]
            if op == "BatchNorm":  # the engine's op does not have the auxiliary states as inputs
                entries += [(Node(None, fresh("null")), 0) for _ in range(5 - len(entries))]
            made = Node(op, fresh("node_"), entries, params)
            functions[function] = [(made, i) for i in range(len(function.outputs))]
        else:
            stack.append((v, True))
            stack += [(i, False) for i in reversed(inputs)]
    return Symbol([entry(x.node)])


def get_symbol(x: NDArray) -> Symbol:
    """The recorded history of an array as a symbol, whose arguments are the arrays that it was computed from.

    Args:
        x: a recorded array.

    Returns:
        The symbol.

    Raises:
        AssertionError: `x` is no NDArray.
        MXNetError: nothing was recorded for `x`.

    Example:
        >>> x = nd.array([1, 2])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = nd.exp(x) * 2
        >>> [node["op"] for node in __import__("json").loads(autograd.get_symbol(y).tojson())["nodes"]]
        ['null', 'exp', '_mul_scalar']

    Source: `mxnet.autograd.get_symbol` of MXNet 1.9.1.
    """
    if not isinstance(x, NDArray):
        raise AssertionError(f"get_symbol: x: expected an NDArray, got {type(x).__name__}")
    return symbol_of(x)


get_symbol.__module__ = autograd.__name__  # the module's name in MXNet, as in pickles
autograd.get_symbol = get_symbol
