"""The recorded history of an NDArray as a symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad import _C

from ..base import MXNetError
from ._compose import text
from ._graph import Entry, Node
from .symbol import Symbol

__all__ = ["operator_name", "symbol_of"]

# op of the engine -> operator of MXNet
_NAMES = {
    "add": "broadcast_add", "sub": "broadcast_sub", "mul": "broadcast_mul", "div": "broadcast_div",
    "pow": "broadcast_power", "mod": "broadcast_mod", "mx_maximum": "broadcast_maximum",
    "minimum": "broadcast_minimum", "equal": "broadcast_equal", "not_equal": "broadcast_not_equal",
    "greater": "broadcast_greater", "less": "broadcast_lesser", "greater_equal": "broadcast_greater_equal",
    "less_equal": "broadcast_lesser_equal", "neg": "negative", "lgamma": "gammaln", "copy": "_copy",
    "identity": "_copy", "stop_gradient": "BlockGrad",
}  # fmt: skip
# those whose parameters follow from the inputs
_LAYERS = {
    "linear": "FullyConnected", "split": "SliceChannel", "convolution": "Convolution", "deconvolution": "Deconvolution",
}  # fmt: skip


def _scalar(name: str, key: str = "value") -> Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]:
    return lambda p: (name, {"scalar": float(p[key])})


def _renamed(name: str, **keys: str) -> Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]:
    """The operator with parameters under MXNet's names; what is None is left out."""
    return lambda p: (name, {keys.get(k, k): v for k, v in p.items() if v is not None and keys.get(k, k)})


def _window(p: dict[str, Any]) -> dict[str, Any]:
    full = p.get("cover_all") or p.get("ignore_border") is False
    more = {"pooling_convention": "full"} if full else {}
    return {"kernel": p["ksize"], "stride": p["stride"], "pad": p["pad"], **more}


_CONVERT: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "add_scalar": _scalar("_plus_scalar"), "mul_scalar": _scalar("_mul_scalar"), "div_scalar": _scalar("_div_scalar"),
    "rsub_scalar": _scalar("_rminus_scalar"), "rdiv_scalar": _scalar("_rdiv_scalar"),
    "pow_scalar": _scalar("_power_scalar", "exponent"), "rpow_scalar": _scalar("_rpower_scalar", "base"),
    "maximum_scalar": _scalar("_maximum_scalar"), "minimum_scalar": _scalar("_minimum_scalar"),
    "equal_scalar": _scalar("_equal_scalar"), "not_equal_scalar": _scalar("_not_equal_scalar"),
    "greater_scalar": _scalar("_greater_scalar"), "less_scalar": _scalar("_lesser_scalar"),
    "greater_equal_scalar": _scalar("_greater_equal_scalar"), "less_equal_scalar": _scalar("_lesser_equal_scalar"),
    "reshape": _renamed("Reshape"), "concat": _renamed("Concat", axis="dim"), "convert": _renamed("Cast"),
    "matmul": _renamed("dot", transa="transpose_a", transb="transpose_b"),
    "clip": _renamed("clip", min="a_min", max="a_max", product=""), "flip": _renamed("reverse"),
    "dropout": _renamed("Dropout", ratio="p"), "relu": lambda p: ("relu", {}),
    "leaky_relu": lambda p: ("LeakyReLU", {"act_type": "leaky", "slope": p["slope"]}),
    "elu": lambda p: ("LeakyReLU", {"act_type": "elu", "slope": p["alpha"]}),
    "gelu": lambda p: ("LeakyReLU", {"act_type": "gelu"}), "prelu": lambda p: ("LeakyReLU", {"act_type": "prelu"}),
    "mx_dropout": _renamed("Dropout"), "layer_normalization": _renamed("LayerNorm", begin_axis="axis"),
    "mx_batch_normalization": _renamed("BatchNorm", moving_mean="", moving_var=""),
    "max_pooling": lambda p: ("Pooling", {**_window(p), "pool_type": "max"}),
    "window_pooling": lambda p: ("Pooling", {
        **_window(p), "pool_type": "avg", "count_include_pad": p.get("divisor") != "valid",
    }),
}  # fmt: skip


def operator_name(function: Any) -> str | None:
    """MXNet's name of the operator that a function of the engine is; None for one that is defined in Python."""
    name = function.op_name
    if name in _CONVERT:
        return _CONVERT[name](dict(function.op_params))[0]
    return _LAYERS.get(name) or _NAMES.get(name, name)


def _convert(function: Any, inputs: list[Any]) -> tuple[str, dict[str, str]]:
    name = function.op_name
    if name is None:  # defined in Python
        return "_CustomFunction", {"name": getattr(function, "label", type(function).__name__)}
    params = dict(function.op_params)
    if name == "linear":
        params = {"num_hidden": inputs[1].shape[0], "no_bias": len([x for x in inputs if x is not None]) < 3}
        return _LAYERS[name], {k: text(v) for k, v in params.items()}
    if name == "split":
        params = {"axis": params["axis"], "num_outputs": len(params["indices"]) + 1}
        return _LAYERS[name], {k: text(v) for k, v in params.items()}
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
        return _LAYERS[name], {k: text(v) for k, v in found.items()}
    if name == "matmul" and len(inputs[0].shape) == 3:
        params = {"transpose_a": params["transa"], "transpose_b": params["transb"]}
        return "batch_dot", {k: text(v) for k, v in params.items()}
    if name in _CONVERT:
        name, params = _CONVERT[name](params)
    elif name in _NAMES:
        name, params = _NAMES[name], {}
    return name, {k: text(v) for k, v in params.items() if v is not None}


def _steps_of_lstm(node: Callable[..., Entry], inputs: list[Entry], params: dict[str, Any]) -> list[Entry]:
    """The cell and the output; the gates as Gluon's LSTMCell composes them."""
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


# ops of the engine that are several operators of MXNet
_SEVERAL = {"lstm": _steps_of_lstm, "gru": _steps_of_gru}


def symbol_of(x: Any) -> Symbol:
    """How x was computed while `autograd.record()` was on. Marked arrays are named var0, var1 …, others null0 ….

    MXNetError where x is not in a recorded graph.
    """
    if not _C.in_graph(x):
        raise MXNetError("get_symbol: x is not in a computational graph: it was not computed inside autograd.record()")
    variables: dict[Any, Node] = {}
    functions: dict[Any, list[Entry]] = {}  # what the outputs are
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

    # inputs before their function, without recursion: histories may be long
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
            op, params = _convert(function, inputs)
            entries = [entry(i) for i in inputs]
            if op == "BatchNorm":  # its states are no inputs of the engine's op
                entries += [(Node(None, fresh("null")), 0) for _ in range(5 - len(entries))]
            made = Node(op, fresh("node_"), entries, params)
            functions[function] = [(made, i) for i in range(len(function.outputs))]
        else:
            stack.append((v, True))
            stack += [(i, False) for i in reversed(inputs)]
    return Symbol([entry(x.node)])
