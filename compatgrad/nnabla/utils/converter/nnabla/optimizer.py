"""Replaces a network by one with fewer functions and the same results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....core._networks import ProtoFunction, ProtoNetwork

if TYPE_CHECKING:
    from ....core._networks import ProtoGraph

__all__ = ["optimize_nnp"]


def optimize_nnp(graph_def: ProtoGraph) -> ProtoNetwork:
    """Replaces matrix products in the form that other frameworks export by affine functions, in the first network of a
    graph. The form is a BatchMatmul of reshaped data and a reshaped matrix, followed by a reshape and the addition of a
    reshaped bias. A product stays unchanged where another function reads an intermediate result.

    Args:
        graph_def: a graph, such as the result of `nnabla.core.graph_def.load`.

    Returns:
        The new network; the graph is not changed.

    Raises:
        AttributeError: `graph_def` is no graph.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> from compatgrad.nnabla.utils.converter.nnabla.optimizer import optimize_nnp
        >>> with graph_def.graph(name="net") as graph:
        ...     y = F.relu(graph_def.ProtoVariable((2, 3), name="x"))
        >>> [f.type for f in optimize_nnp(graph).functions.values()]
        ['ReLU']

    Source: `nnabla.utils.converter.nnabla.optimizer.optimize_nnp` of nnabla 1.39.0.
    """
    network = graph_def.default_graph().copy()
    for function in list(network.functions.values()):
        if function.type == "Add2":
            _fold(network, function)
    network.connect()
    return network


def _source(network: ProtoNetwork, name: str, kind: str) -> ProtoFunction | None:
    """The function of type `kind` with the output `name`, if that has only one reader."""
    v = network.find(name)
    function = network.functions.get(v.parent or "")
    return function if function is not None and function.type == kind and len(v.required) == 1 else None


def _shape(network: ProtoNetwork, name: str) -> Sequence[int]:
    return tuple(network.find(name).shape)


def _fold(network: ProtoNetwork, add: ProtoFunction) -> None:
    result, bias = (_source(network, name, "Reshape") for name in add.inputs)
    product = result and _source(network, result.inputs[0], "BatchMatmul")
    if bias is None or result is None or product is None or any(product.args.get(f"transpose_{c}") for c in "ab"):
        return
    data, matrix = (_source(network, name, "Reshape") for name in product.inputs)
    if data is None or matrix is None:
        return
    x, w, b, y = data.inputs[0], matrix.inputs[0], bias.inputs[0], add.outputs[0]
    shape, table, out = _shape(network, x), _shape(network, w), _shape(network, y)
    fits = (
        w in network.parameters
        and b in network.parameters
        and len(table) == 2
        and _shape(network, b) == table[1:]
        and shape[-1:] == table[:1]
        and out == (*shape[:-1], table[1])
        and _shape(network, matrix.outputs[0])[-2:] == table
        and _shape(network, data.outputs[0])[-1] == table[0]
        and _shape(network, bias.outputs[0])[-1] == table[1]
    )
    if not fits:
        return
    affine = ProtoFunction(None, "Affine", {"base_axis": len(shape) - 1}, add.name)
    affine.inputs, affine.outputs = [x, w, b], [y]
    for part in (data, matrix, product, result, bias):
        del network.functions[part.name]
        for name in part.outputs:
            del network.variables[name]
    network.functions[add.name] = affine
