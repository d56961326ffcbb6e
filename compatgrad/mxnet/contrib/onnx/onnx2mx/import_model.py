"""`import_model`: an ONNX file as a symbol with its parameters."""

from __future__ import annotations

from typing import Any

from compatgrad.core import notes

from ....ndarray import NDArray
from ....symbol import Symbol
from .import_onnx import GraphProto, load

__all__ = ["get_model_metadata", "import_model"]


def import_model(model_file: Any) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The symbol of an ONNX file, with values of its arguments and auxiliary states.

    Inputs of the graph that have no values are the symbol's inputs, under their names.

    Args:
        model_file: the path.

    Returns:
        The symbol, and two dicts of NDArrays by name: its arguments' and its auxiliary states' values.

    Raises:
        ImportError: the package onnx is not installed.
        google.protobuf.message.DecodeError, ValueError: the file is no ONNX model.
        OSError: the file cannot be read.
        NotImplementedError: there is no symbol for an operator, or for what it is asked to do; the message names the
            node.

    Example:
        Needs the package onnx::

            sym, arg_params, aux_params = mx.contrib.onnx.import_model("net.onnx")

    Source: `mxnet.contrib.onnx.import_model` of MXNet 1.9.1.
    """
    notes.note_difference("import_model")
    model = load(model_file)
    return GraphProto().from_onnx(model.graph, max(x.version for x in model.opset_import))


def get_model_metadata(model_file: Any) -> dict[str, list[tuple[Any, ...]]]:
    """The inputs and outputs of an ONNX file.

    Args:
        model_file: the path.

    Returns:
        A dict: `input_tensor_data`, tuples of name, shape and ONNX's number of the type, and `output_tensor_data`,
            tuples of name and shape. Sizes that vary are 0.

    Raises:
        ImportError: the package onnx is not installed.
        google.protobuf.message.DecodeError, ValueError: the file is no ONNX model.
        OSError: the file cannot be read.

    Example:
        Needs the package onnx::

            mx.contrib.onnx.get_model_metadata("net.onnx")["input_tensor_data"]  # [("data", (1, 3, 224, 224), 1)]

    Source: `mxnet.contrib.onnx.get_model_metadata` of MXNet 1.9.1.
    """
    return GraphProto().get_graph_metadata(load(model_file).graph)
