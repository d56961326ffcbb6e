"""Tables and drawings of symbols: `mxnet.viz`."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .symbol import Symbol

__all__ = ["print_summary", "plot_network"]

_PARAMETERS = ("_weight", "_bias", "_gamma", "_beta", "_parameters")
_STATISTICS = ("_moving_mean", "_moving_var", "_running_mean", "_running_var")


class _Graph:
    """The nodes of a symbol, with shapes if those of its inputs are given."""

    def __init__(self, who: str, symbol: Any, shape: dict[str, tuple[int, ...]] | None) -> None:
        if not isinstance(symbol, Symbol):
            raise TypeError(f"{who}: symbol must be a Symbol, not {type(symbol).__name__}")
        self.nodes = json.loads(symbol.tojson())["nodes"]
        self.shapes: dict[str, tuple[int, ...]] = {}
        if shape is not None:
            inside = symbol.get_internals()
            _, found, _ = inside.infer_shape(**shape)
            if found is None:
                raise ValueError(f"{who}: shape: the shapes {shape} do not determine those of all operators")
            self.shapes = dict(zip(inside.list_outputs(), found, strict=True))

    def shape(self, node: dict[str, Any]) -> tuple[int, ...] | None:
        name = node["name"]
        return self.shapes.get(name if node["op"] == "null" else f"{name}_output", self.shapes.get(f"{name}_output0"))

    def inputs(self, node: dict[str, Any]) -> list[dict[str, Any]]:
        return [self.nodes[source[0]] for source in node["inputs"]]

    def is_parameter(self, node: dict[str, Any]) -> bool:
        return node["op"] == "null" and node["name"].endswith(_PARAMETERS + _STATISTICS)

    def parameters(self, node: dict[str, Any]) -> int:
        """The number of the operator's trainable elements; 0 if shapes are unknown."""
        total = 0
        for source in self.inputs(node):
            if source["op"] == "null" and source["name"].endswith(_PARAMETERS):
                shape = self.shape(source)
                count = 1 if shape else 0
                for n in shape or ():
                    count *= n
                total += count
        return total


def print_summary(
    symbol: Symbol,
    shape: dict[str, tuple[int, ...]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Prints a table of the operators in a symbol: output shapes without the batch, parameters, what comes before.

    Args:
        symbol: the symbol.
        shape: shapes of the inputs by name; without it, shapes stay empty and numbers of parameters 0.
        line_length: the length of a line, in characters.
        positions: where the four columns end, in characters or as parts of the line.

    Raises:
        TypeError: `symbol` is no Symbol.
        ValueError: the shapes do not determine those of all operators.
        MXNetError: a shape is for no argument of the symbol.

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
        >>> mx.viz.print_summary(y, shape={"x": (1, 2)}, line_length=60)
        ____________________________________________________________
        Layer (type)              Output ShapeParam Previous Layer
        ============================================================
        x(null)                   2           0
        ____________________________________________________________
        fc(FullyConnected)        3           9     x
        ============================================================
        Total params: 9
        ____________________________________________________________

    Source: `mxnet.visualization.print_summary` of MXNet 1.9.1.
    """
    graph = _Graph("print_summary", symbol, shape)
    ends = [int(line_length * p) for p in positions] if positions[-1] <= 1 else [int(p) for p in positions]

    def row(*fields: Any) -> None:
        line = ""
        for field, end in zip(fields, ends, strict=True):
            line = (line + str(field))[:end].ljust(end)
        print(line)

    print("_" * line_length)
    row("Layer (type)", "Output Shape", "Param #", "Previous Layer")
    print("=" * line_length)
    shown = [n for i, n in enumerate(graph.nodes) if n["op"] != "null" or i == 0]
    total = 0
    for i, node in enumerate(shown):
        before = [n["name"] for n in graph.inputs(node) if n["op"] != "null" or n is graph.nodes[0]] or [""]
        count = graph.parameters(node)
        total += count
        row(f"{node['name']}({node['op']})", "x".join(map(str, (graph.shape(node) or ())[1:])), count, before[0])
        for name in before[1:]:
            row("", "", "", name)
        print(("=" if i == len(shown) - 1 else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


_COLOURS = {
    "null": "#8dd3c7",
    "Convolution": "#fb8072",
    "Deconvolution": "#fb8072",
    "FullyConnected": "#fb8072",
    "BatchNorm": "#bebada",
    "Activation": "#ffffb3",
    "LeakyReLU": "#ffffb3",
    "Pooling": "#80b1d3",
    "Concat": "#fdb462",
    "Flatten": "#fdb462",
    "Reshape": "#fdb462",
    "Softmax": "#b3de69",
    "SoftmaxOutput": "#b3de69",
}


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: dict[str, tuple[int, ...]] | None = None,
    dtype: Any = None,
    node_attrs: dict[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """A drawing of the operators in a symbol, arrows from inputs to results.

    Args:
        symbol: the symbol.
        title, save_format: name and format of the file that the drawing's `render` writes.
        shape: shapes of the inputs by name, for shapes at the arrows.
        dtype: accepted, without effect.
        node_attrs: attributes of Graphviz for all nodes.
        hide_weights: leaves parameters out.

    Returns:
        A `graphviz.Digraph`.

    Raises:
        ImportError: the package graphviz is not installed.
        TypeError: `symbol` is no Symbol.
        ValueError: the shapes do not determine those of all operators.
        MXNetError: a shape is for no argument of the symbol.

    Example:
        Needs the package graphviz::

            mx.viz.plot_network(net, shape={"data": (1, 3, 224, 224)}).render("net")

    Source: `mxnet.visualization.plot_network` of MXNet 1.9.1.
    """
    try:
        from graphviz import Digraph
    except ImportError as e:
        raise ImportError("plot_network needs the package graphviz: pip install graphviz") from e
    graph = _Graph("plot_network", symbol, shape)
    repeated = [name for name, count in Counter(n["name"] for n in graph.nodes).items() if count > 1]
    if repeated:
        warnings.warn(
            "There are multiple variables with the same name in your graph, which are drawn as one: "
            + ", ".join(repeated),
            RuntimeWarning,
            stacklevel=2,
        )
    style = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    dot = Digraph(name=title, format=save_format)
    hidden = {n["name"] for n in graph.nodes if hide_weights and graph.is_parameter(n)}
    for node in graph.nodes:
        if node["name"] in hidden:
            continue
        label = node["name"] if node["op"] == "null" else f"{node['op']}\n{node['name']}"
        look = {**style, "fillcolor": _COLOURS.get(node["op"], "#fccde5"), **(node_attrs or {})}
        if node["op"] == "null":
            look["shape"] = "oval"
        dot.node(name=node["name"], label=label, **look)
        for source in graph.inputs(node):
            if source["name"] not in hidden:
                text = "x".join(map(str, (graph.shape(source) or ())[1:]))
                dot.edge(tail_name=node["name"], head_name=source["name"], dir="back", label=text)
    return dot
