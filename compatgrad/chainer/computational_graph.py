"""Graphs of functions and variables as text for Graphviz. Mirrors ``chainer.computational_graph``."""

from __future__ import annotations

import heapq
import itertools
from typing import Any

from compatgrad import _C

_STYLES = {
    "variable": {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"},
    "function": {"shape": "record", "fillcolor": "#6495ED", "style": "filled"},
}


class DotNode:
    """A vertex in the dot language.

    Args:
        node: VariableNode or FunctionNode.
        attribute: dictionary of dot attributes; None for none.
        show_name: True puts the name of a variable into its label.

    Raises:
        AssertionError: `node` is neither a VariableNode nor a FunctionNode.

    Example:
        >>> x = chainer.Variable(np.zeros((2, 3), np.float32), name="x")
        >>> chainer.computational_graph.DotNode(x.node).label.partition(" ")[2]
        '[label="x: (2, 3), float32",shape="oval"];'

    Source: `chainer.computational_graph.DotNode` of Chainer 7.8.1.
    """

    def __init__(self, node: Any, attribute: dict[str, Any] | None = None, show_name: bool = True) -> None:
        is_variable = isinstance(node, _C.VariableNode)
        assert is_variable or isinstance(node, _C.FunctionNode), f"not a node: {type(node)}"
        self.node = node
        self.id_ = id(node)
        label = node.label
        if is_variable and show_name and node.name is not None:
            label = f"{node.name}: {label}"
        self.attribute = {"label": label, "shape": "oval" if is_variable else "box", **(attribute or {})}

    @property
    def label(self):
        """The statement that declares the vertex."""
        attributes = ",".join([f'{name}="{value}"' for name, value in self.attribute.items()])
        return f"{self.id_} [{attributes}];"


class ComputationalGraph:
    """Nodes and edges of an acyclic graph, and how to draw them. `build_computational_graph` makes one.

    Args:
        nodes: list of VariableNodes and FunctionNodes.
        edges: list of pairs of nodes.
        variable_style: dictionary of dot attributes of variables, 'default', or None for none.
        function_style: the same of functions.
        rankdir: direction of the edges: 'TB', 'BT', 'LR' or 'RL'.
        remove_variable: True leaves functions only.
        show_name: True puts the names of variables into their labels.

    Raises:
        ValueError: `rankdir` is none of these.

    Example:
        >>> graph = chainer.computational_graph.build_computational_graph(F.exp(np.zeros(2)))
        >>> len(graph.nodes), len(graph.edges), graph.dump().partition(";")[0]
        (3, 2, 'digraph graphname{rankdir=TB')

    Source: `chainer.computational_graph.ComputationalGraph` of Chainer 7.8.1.
    """

    def __init__(
        self,
        nodes: list[Any],
        edges: list[tuple[Any, Any]],
        variable_style: dict[str, Any] | str | None = "default",
        function_style: dict[str, Any] | str | None = "default",
        rankdir: str = "TB",
        remove_variable: bool = False,
        show_name: bool = True,
    ) -> None:
        if rankdir not in ("TB", "BT", "LR", "RL"):
            raise ValueError(f"rankdir must be in TB, BT, LR or RL, not {rankdir!r}.")
        self.nodes = nodes
        self.edges = edges
        self.variable_style = _style("variable", variable_style)
        self.function_style = _style("function", function_style)
        self.rankdir = rankdir
        self.remove_variable = remove_variable
        self.show_name = show_name

    def dump(self, format: str = "dot") -> str:
        """The graph as text in the dot language. Raises NotImplementedError for another format."""
        if format != "dot":
            raise NotImplementedError(f"Currently, only dot format is supported, not {format!r}.")
        return self._to_dot()

    def _repr_svg_(self):
        """The picture that notebooks show; it needs no Graphviz."""
        from compatgrad.drawing import Graph
        from compatgrad.drawing.boxes import Box, Edge

        nodes, edges = self._drawn()
        number = {node: i for i, node in enumerate(nodes)}
        boxes = []
        for node in nodes:
            is_variable = isinstance(node, _C.VariableNode)
            style = self.variable_style if is_variable else self.function_style
            attribute = DotNode(node, style, self.show_name).attribute
            boxes.append(Box([str(attribute["label"])], attribute.get("fillcolor", "white"), is_variable))
        lines = [Edge(number[head], number[tail]) for head, tail in dict.fromkeys(edges)]
        return Graph(boxes, lines, self.rankdir, dot=self.dump())._repr_svg_()

    def _drawn(self):
        return _without_variables(self.nodes, self.edges) if self.remove_variable else (self.nodes, self.edges)

    def _to_dot(self):
        nodes, edges = self._drawn()
        parts = [f"digraph graphname{{rankdir={self.rankdir};"]
        for node in nodes:
            style = self.variable_style if isinstance(node, _C.VariableNode) else self.function_style
            parts.append(DotNode(node, style, self.show_name).label)
        for head, tail in edges:
            kinds = isinstance(head, _C.VariableNode), isinstance(tail, _C.VariableNode)
            if kinds[0] == kinds[1] and not self.remove_variable:
                raise TypeError(f"an edge must join a VariableNode and a FunctionNode: {type(head)}, {type(tail)}")
        parts += dict.fromkeys([f"{id(head)} -> {id(tail)};" for head, tail in edges])
        return "".join(parts) + "}"


def _style(kind, style):
    if style is None:
        return {}
    return dict(_STYLES[kind]) if style == "default" else style


def _without_variables(nodes, edges):
    functions = [node for node in nodes if isinstance(node, _C.FunctionNode)]
    consumers = {}
    for function in functions:
        for x in function.inputs:
            consumers.setdefault(x, []).append(function)
    between = [
        (head, consumer)
        for head, tail in edges
        if isinstance(head, _C.FunctionNode)
        for consumer in consumers.get(tail, ())
    ]
    return functions, between


def build_computational_graph(
    outputs: Any,
    remove_split: bool = True,
    variable_style: dict[str, Any] | str | None = "default",
    function_style: dict[str, Any] | str | None = "default",
    rankdir: str = "TB",
    remove_variable: bool = False,
    show_name: bool = True,
) -> ComputationalGraph:
    """The graph of everything from which variables were computed.

    Args:
        outputs: Variable, VariableNode or FunctionNode, or an iterable of these.
        remove_split: True.
        variable_style: dictionary of dot attributes of variables, 'default', or None for none.
        function_style: the same of functions.
        rankdir: direction of the edges: 'TB', 'BT', 'LR' or 'RL'.
        remove_variable: True leaves functions only.
        show_name: True puts the names of variables into their labels.

    Returns:
        ComputationalGraph.

    Raises:
        TypeError: an output is none of these.
        ValueError: `remove_split` is False, or `rankdir` none of these.

    Example:
        >>> x = chainer.Variable(np.zeros(2))
        >>> graph = chainer.computational_graph.build_computational_graph([F.exp(x) + x], remove_variable=True)
        >>> [label for label in ("exp", "_ + _") if f'label="{label}"' in graph.dump()]
        ['exp', '_ + _']

    Source: `chainer.computational_graph.build_computational_graph` of Chainer 7.8.1.
    """
    if not remove_split:
        raise ValueError("remove_split=False is not supported anymore")
    kinds = (_C.Variable, _C.VariableNode, _C.FunctionNode)
    if isinstance(outputs, kinds):
        outputs = [outputs]
    outputs = list(outputs)
    if not all(isinstance(o, kinds) for o in outputs):
        found = ", ".join(sorted({type(o).__name__ for o in outputs}))
        raise TypeError(f"element of outputs must be either Variable, VariableNode, or FunctionNode. Actual: {found}")

    nodes = {}  # sets would give the edges in another order in each run
    edges = {}
    heap = []
    count = itertools.count()

    def push(node):
        if node not in nodes:
            nodes[node] = None
            heapq.heappush(heap, (-node.rank, next(count), node))

    for output in outputs:
        push(output.node if isinstance(output, _C.Variable) else output)
    while heap:
        _, _, node = heapq.heappop(heap)
        if isinstance(node, _C.FunctionNode):
            sources = node.inputs or ()
        else:
            creator = node.creator_node
            sources = () if creator is None else (creator,)
        for source in sources:
            edges[source, node] = None
            push(source)
    return ComputationalGraph(
        list(nodes), list(edges), variable_style, function_style, rankdir, remove_variable, show_name
    )
