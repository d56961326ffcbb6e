"""Shapes of a graph: parameters from the data that meets them, outputs by running the operators without values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .. import autograd
from ..base import MXNetError
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from ._evaluate import run_node
from ._facts import is_variadic, needed_inputs
from ._graph import Node, auxiliary

__all__ = ["infer_shape"]

Shape = tuple[int, ...]


def _tuple(value: Any, n: int) -> Shape:
    return (int(value),) * n if isinstance(value, int) else tuple(int(v) for v in value)


def _dense(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
    n = int(p["num_hidden"])
    return {"weight": (n, math.prod(d[1:]) if p.get("flatten", True) else d[-1]), "bias": (n,)}


def _convolution(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
    n, groups = int(p["num_filter"]), int(p.get("num_group", 1))
    kernel = _tuple(p["kernel"], len(d) - 2)
    if str(p.get("layout") or "NC").endswith("C") and p.get("layout") is not None:
        return {"weight": (n, *kernel, d[-1] // groups), "bias": (n,)}
    return {"weight": (n, d[1] // groups, *kernel), "bias": (n,)}


def _deconvolution(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
    n, groups = int(p["num_filter"]), int(p.get("num_group", 1))
    return {"weight": (d[1], n // groups, *_tuple(p["kernel"], len(d) - 2)), "bias": (n,)}


def _channels(axis: int) -> Callable[[Shape, dict[str, Any]], dict[str, Shape]]:
    def rule(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
        c = (d[int(p.get("axis", axis))],)
        return {"gamma": c, "beta": c, "moving_mean": c, "moving_var": c}

    return rule


def _prelu(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
    return {"gamma": (d[1] if len(d) > 1 else 1,)}


def _embedding(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
    return {"weight": (int(p["input_dim"]), int(p["output_dim"]))}


def _rnn(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
    hidden, layers = int(p["state_size"]), int(p["num_layers"])
    sides = 2 if p.get("bidirectional") else 1
    gates = {"lstm": 4, "gru": 3}.get(p.get("mode", ""), 1)
    size = 0
    for layer in range(layers):
        inputs = d[2] if layer == 0 else hidden * sides
        size += sides * gates * hidden * (inputs + hidden + 2)
    state = (layers * sides, d[1], hidden)
    return {"parameters": (size,), "state": state, "state_cell": state}


def _label(d: Shape, p: dict[str, Any]) -> dict[str, Shape]:
    return {"label": (d[0], *d[2:]) if p.get("multi_output") else d[:-1]}


_RULES: dict[str, Callable[[Shape, dict[str, Any]], dict[str, Shape]]] = {
    "FullyConnected": _dense,
    "Convolution": _convolution,
    "Deconvolution": _deconvolution,
    "_contrib_DeformableConvolution": _convolution,
    "_contrib_ModulatedDeformableConvolution": _convolution,
    "BatchNorm": _channels(1),
    "_contrib_SyncBatchNorm": _channels(1),
    "InstanceNorm": _channels(1),
    "GroupNorm": _channels(1),
    "LayerNorm": _channels(-1),
    "LeakyReLU": _prelu,
    "Embedding": _embedding,
    "RNN": _rnn,
    "SoftmaxOutput": _label,
    "SVMOutput": _label,
    **{name: lambda d, p: {"label": d}
       for name in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput")},
}  # fmt: skip


def _inferred(node: Node, shapes: list[Shape | None]) -> list[Shape | None]:
    """What the known shapes of a node's inputs say of the others."""
    op = node.op or ""
    if is_variadic(op):
        return shapes
    if op == "Custom":
        return _custom_shapes(node, shapes)
    names = needed_inputs(op, node.params)
    if op in _RULES and shapes and shapes[0]:
        try:
            found = _RULES[op](shapes[0], {k: parse(v) for k, v in node.params.items()})
        except (KeyError, IndexError) as e:
            raise MXNetError(f"Error in operator {node.name}: {op}: missing or wrong parameter {e}") from None
        return [found.get(n, s) if i else s for i, (n, s) in enumerate(zip(names, shapes, strict=False))]
    if names == ["lhs", "rhs"] and op not in ("dot", "batch_dot", "reshape_like", "broadcast_like"):
        if shapes[0] is None or shapes[1] is None:
            return [shapes[0] or shapes[1]] * 2
    return shapes


def _custom_shapes(node: Node, shapes: list[Shape | None]) -> list[Shape | None]:
    """As the operator's infer_shape says, where it can with what is known."""
    from ..operator import prop_of

    prop = prop_of(node.params)
    n = len(prop.list_arguments())
    if not shapes or shapes[0] is None:
        return shapes
    found = prop.infer_shape([list(s) if s is not None else [] for s in shapes[:n]])
    states = found[2] if len(found) > 2 else ()
    return [tuple(int(d) for d in s) for s in (*found[0], *states)]


def _outputs(node: Node, shapes: list[Shape]) -> list[Shape]:
    """Shapes of the results: first without values, and with zeros where an operator looks at them."""
    with autograd.pause():
        try:
            return [y.shape for y in run_node(node, [NDArray(torch.empty(s, device="meta")) for s in shapes])]
        except Exception:  # noqa: BLE001 - whatever it was, the run below tells it better
            return [y.shape for y in run_node(node, [NDArray(torch.zeros(s)) for s in shapes])]


def infer_shape(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any], partial: bool) -> tuple[Any, Any, Any]:
    """See Symbol.infer_shape."""
    if args and kwargs:
        raise ValueError("infer_shape: shapes come either by position or by name, not both")
    nodes = symbol._nodes()
    states = auxiliary(nodes)
    variables = [n for n in nodes if n.op is None]
    arguments = [n for n in variables if id(n) not in states]
    names = [n.name for n in variables]
    given = {k: v for k, v in (kwargs or dict(zip((n.name for n in arguments), args, strict=False))).items() if v}
    for k in given:
        if k not in names:
            raise MXNetError(f"infer_shape: there is no argument {k}; the arguments are {names}")
    known: dict[tuple[int, int], Shape] = {}
    for n in variables:
        shape = given.get(n.name) or parse(n.attrs.get("__shape__", "()"))
        if shape and all(d > 0 for d in shape):
            known[id(n), 0] = tuple(int(d) for d in shape)
    for node in nodes:
        if node.op is None:
            continue
        for (n, i), shape in zip(
            node.inputs, _inferred(node, [known.get((id(n), i)) for n, i in node.inputs]), strict=False
        ):
            old = known.get((id(n), i))
            if (
                old is not None
                and shape is not None
                and old != tuple(shape)
                and n.op is None
                and node.op != "LeakyReLU"
            ):
                raise MXNetError(
                    f"Error in operator {node.name}: input {n.name}: Shape inconsistent, Provided = {list(old)}, "
                    f"inferred shape={list(shape)}"
                )
            if old is None and shape is not None and n.op is None:
                known[id(n), i] = tuple(shape)
        shapes = [known.get((id(n), i)) for n, i in node.inputs]
        if all(s is not None for s in shapes):
            for i, shape in enumerate(_outputs(node, shapes)):  # type: ignore[arg-type]
                known[id(node), i] = tuple(shape)
    result = (
        [known.get((id(n), 0)) for n in arguments],
        [known.get((id(n), i)) for n, i in symbol._outputs],
        [known.get((id(n), 0)) for n in variables if id(n) in states],
    )
    if partial:
        return tuple([s or () for s in part] for part in result)  # type: ignore[return-value]
    if any(s is None for part in result for s in part):
        unknown = [f"{n.name}: ()" for n in arguments if (id(n), 0) not in known]
        warnings.warn(
            "infer_shape: cannot decide the shapes of these arguments, please give them:\n\t"
            + "\n\t".join(unknown[:10]),
            stacklevel=3,
        )
        return None, None, None
    return result
