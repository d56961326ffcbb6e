"""`GraphProto`: builds symbols from the graph of an ONNX model."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .... import ndarray as nd
from .... import symbol
from ....gluon import SymbolBlock
from ....ndarray import NDArray
from ....symbol import Symbol
from ._op_translations import CONVERTERS

__all__ = ["GraphProto", "load"]


def load(model_file: Any) -> Any:
    """Reads an ONNX file.

    Args:
        model_file: the path.

    Returns:
        The `onnx.ModelProto`.

    Raises:
        ImportError: the package onnx is not installed.
        google.protobuf.message.DecodeError, ValueError: the file is no ONNX model; the message names it.
        OSError: the file cannot be read.

    Example:
        Needs the package onnx::

            model = mx.contrib.onnx.onnx2mx.import_onnx.load("net.onnx")

    Source: of compatgrad itself.
    """
    try:
        import onnx
    except ImportError as e:
        raise ImportError(f"{e}: mx.contrib.onnx needs onnx: pip install onnx onnxscript") from e
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model(model_file)
    except DecodeError as e:
        raise DecodeError(f"{model_file} is no ONNX model: {e}") from e
    if not model.opset_import:
        raise ValueError(f"{model_file} is no ONNX model: it has no operator set")
    return model


class Node:
    """One node of an ONNX graph, as its converter sees it.

    Args:
        graph: the GraphProto that builds the symbol.
        proto: the `onnx.NodeProto`.

    Attributes:
        opset: number of the operator set.
        name: the node's name, or None.
        outputs: names of the outputs.
        attrs: attributes by name.

    Example:
        Needs the package onnx::

            node = mx.contrib.onnx.onnx2mx.import_onnx.Node(graph, proto)
            node.attr("axis", -1), node.symbol(0)

    Source: of compatgrad itself.
    """

    def __init__(self, graph: GraphProto, proto: Any) -> None:
        from onnx import helper

        self.opset, self.name = graph.opset_version, proto.name.strip() or None
        self.outputs = list(proto.output)
        self.attrs = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        self._graph, self._proto = graph, proto

    def __len__(self) -> int:
        return len(self._proto.input)

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute; bytes as str."""
        value = self.attrs.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def given(self, i: int) -> bool:
        """Whether there is an input `i`."""
        return i < len(self) and self._proto.input[i] != ""

    def symbol(self, i: int) -> Symbol:
        """The symbol of input `i`."""
        return self._graph._symbol(self._proto.input[i])

    def symbols(self) -> list[Symbol]:
        """The symbols of all inputs."""
        return [self.symbol(i) for i in range(len(self))]

    def is_constant(self, i: int) -> bool:
        """Whether the numbers of input `i` are known."""
        return self._proto.input[i] in self._graph._params

    def value(self, i: int) -> np.ndarray:
        """The numbers of input `i`, a NumPy array; NotImplementedError if they are computed."""
        if not self.is_constant(i):
            self.refuse(f"its input {self._proto.input[i]} is computed, but a symbol needs its value beforehand")
        return self._graph._params[self._proto.input[i]]

    def set_value(self, name: str, value: np.ndarray) -> Symbol:
        """Keeps `value` as a constant, whose symbol is the output `name`."""
        self._graph._params[name] = value
        return self._graph._symbol(name)

    def refuse(self, why: str) -> NoReturn:
        """Raises NotImplementedError, which names the node."""
        raise NotImplementedError(f"import_model: {self._proto.op_type} {self.name or self.outputs[0]}: {why}")


class GraphProto:
    """Builds a symbol, or a block, from the graph of an ONNX model.

    Example:
        Needs the package onnx::

            model = mx.contrib.onnx.onnx2mx.import_onnx.load("net.onnx")
            graph = mx.contrib.onnx.onnx2mx.import_onnx.GraphProto()
            sym, arg_params, aux_params = graph.from_onnx(model.graph, opset_version=17)

    Source: `mxnet.contrib.onnx.onnx2mx.import_onnx.GraphProto` of MXNet 1.9.1.
    """

    def __init__(self):
        self._nodes = {}  # symbols by the names of the graph's values
        self._params = {}  # NumPy arrays of the graph's constants
        self.opset_version = 0

    def _symbol(self, name: str) -> Symbol:
        if name not in self._nodes:
            if name not in self._params:
                raise KeyError(f"import_model: nothing in the graph computes {name!r}")
            value = self._params[name]
            self._nodes[name] = symbol.var(name, shape=value.shape or (1,), dtype=value.dtype)
        return self._nodes[name]

    def from_onnx(self, graph: Any, opset_version: int) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
        """The symbol, its arguments' values and its auxiliary states' values; see `import_model`."""
        from onnx import numpy_helper

        self.opset_version = opset_version
        self._params = {x.name: numpy_helper.to_array(x) for x in graph.initializer}
        self._nodes = {x.name: symbol.var(x.name) for x in graph.input if x.name not in self._params}
        for proto in graph.node:
            node = Node(self, proto)
            if proto.op_type not in CONVERTERS:
                node.refuse("there is no symbol for this operator")
            made = CONVERTERS[proto.op_type](node)
            for name, output in zip(proto.output, made if isinstance(made, list) else [made[0]], strict=False):
                self._nodes[name] = output
        outputs = [self._symbol(x.name) for x in graph.output]
        sym = outputs[0] if len(outputs) == 1 else symbol.Group(outputs)
        arguments, auxiliary = (self._values(x) for x in (sym.list_arguments(), sym.list_auxiliary_states()))
        return sym, arguments, auxiliary

    def _values(self, names: list[str]) -> dict[str, NDArray]:
        values = {name: np.atleast_1d(self._params[name]) for name in names if name in self._params}
        return {name: nd.array(value, dtype=value.dtype) for name, value in values.items()}

    def get_graph_metadata(self, graph: Any) -> dict[str, list[tuple[Any, ...]]]:
        """See `get_model_metadata`."""

        def shape(x):
            return tuple(d.dim_value for d in x.type.tensor_type.shape.dim)

        constants = {x.name for x in graph.initializer}
        inputs = [(x.name, shape(x), x.type.tensor_type.elem_type) for x in graph.input if x.name not in constants]
        return {"input_tensor_data": inputs, "output_tensor_data": [(x.name, shape(x)) for x in graph.output]}

    def graph_to_gluon(self, graph: Any, ctx: Any, opset_version: int) -> SymbolBlock:
        """The SymbolBlock; see `import_to_gluon`."""
        sym, arguments, auxiliary = self.from_onnx(graph, opset_version)
        names = [x[0] for x in self.get_graph_metadata(graph)["input_tensor_data"]]
        block = SymbolBlock(outputs=sym, inputs=[symbol.var(name) for name in names])
        parameters = block.collect_params()
        for name, value in {**arguments, **auxiliary}.items():
            parameters[name].shape = value.shape
            parameters[name]._load_init(value, ctx=ctx)
        return block
