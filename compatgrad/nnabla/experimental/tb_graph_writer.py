"""Writes graphs for TensorBoard, with tensorboardX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..parameter import get_parameters
from ..variable import Variable

try:
    from tensorboardX import SummaryWriter
    from tensorboardX.proto.attr_value_pb2 import AttrValue
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.graph_pb2 import GraphDef
    from tensorboardX.proto.node_def_pb2 import NodeDef
    from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboardX.proto.types_pb2 import DT_FLOAT
    from tensorboardX.proto.versions_pb2 import VersionDef
except ImportError as e:
    raise ImportError("nnabla.experimental.tb_graph_writer needs tensorboardX: pip install tensorboardX") from e

__all__ = ["TBGraphWriter"]


def _numbered(taken: set[str], base: str, first: str) -> str:
    """`base` followed by `first`, and from the second call on by _1, _2, ..."""
    name, number = base + first, 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name


def _variable(name: str, op: str, shape: Iterable[int], inputs: list[str]) -> Any:
    dims = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in shape])
    attributes = {"shape": AttrValue(shape=dims), "dtype": AttrValue(type=DT_FLOAT)}
    return NodeDef(name=name, op=op, input=inputs, attr=attributes)


class _Names:
    """The names of a graph's functions and variables, with the parameter scopes of the functions as prefixes."""

    def __init__(self, output: Variable, output_name: str) -> None:
        self.parameters = {p.data: name for name, p in get_parameters(grad_only=False).items()}
        self.functions: dict[Any, str] = {}
        self.variables = {output: output_name}
        self._taken_functions: set[str] = set()
        self._taken_variables: set[str] = set()

    def of_function(self, f: Any) -> str:
        if f not in self.functions:
            of = [self.parameters[x.data] for x in f.inputs if x.data in self.parameters]
            scope = of[0].rpartition("/")[0] if of else ""
            self.functions[f] = _numbered(self._taken_functions, f"{scope}/{f.name}" if scope else f.name, "0")
        return self.functions[f]

    def of_variable(self, v: Variable) -> str:
        if v.data in self.parameters:
            return self.parameters[v.data]
        if v not in self.variables:
            base = "Input"
            if v.parent is not None:
                scope, slash, name = self.of_function(v.parent).rpartition("/")
                base = f"{scope}{slash}v_{name}"
            self.variables[v] = _numbered(self._taken_variables, base, "_0")
        return self.variables[v]


class TBGraphWriter(SummaryWriter):
    """tensorboardX's SummaryWriter, extended by methods that write graphs.

    log_dir: the folder; comment and further arguments are those of tensorboardX.SummaryWriter.
    """

    def __init__(self, log_dir: str = "log_out", comment: str = "", **kwargs: Any) -> None:
        super().__init__(log_dir, comment, **kwargs)

    def _write(self, nodes: list[Any]) -> None:
        graph = GraphDef(node=nodes, versions=VersionDef(producer=22))
        self.file_writer.add_event(Event(graph_def=graph.SerializeToString()))

    def from_variable(self, leaf: Variable, output_name: str = "output") -> None:
        """Writes the graph that computes `leaf`, which gets the name `output_name`."""
        names = _Names(leaf, output_name)
        nodes: dict[str, Any] = {}

        def add(v: Variable) -> None:
            name = names.of_variable(v)
            if name not in nodes:
                inputs = [] if v.parent is None else [names.of_function(v.parent)]
                nodes[name] = _variable(name, "Variable", v.shape, inputs)

        def visit(f: Any) -> None:
            for x in f.inputs:
                add(x)
            arguments = ",".join(f"{key}={value}" for key, value in f.info.args.items()).encode()
            name = names.of_function(f)
            nodes[name] = NodeDef(
                name=name,
                op=f.info.type_name,
                input=[names.of_variable(x) for x in f.inputs],
                attr={"parameters": AttrValue(s=arguments)},
            )

        leaf.visit(visit)
        add(leaf)
        self._write(list(nodes.values()))

    def from_graph_def(self, graph_def: Any) -> None:
        """Writes the first network of a graph, or a network, of `nnabla.core.graph_def`."""
        network = graph_def.default_graph() if hasattr(graph_def, "default_graph") else graph_def
        nodes = [_variable(name, "Parameter", v.shape, []) for name, v in network.parameters.items()]
        for name, v in network.variables.items():
            nodes.append(_variable(name, "Variable", v.shape, [v.parent] if v.parent else []))
        for name, f in network.functions.items():
            arguments = ",".join(f"{key}={value}" for key, value in f.args.items()).encode()
            nodes.append(NodeDef(name=name, op=f.type, input=f.inputs, attr={"arguments": AttrValue(s=arguments)}))
        self._write(nodes)
