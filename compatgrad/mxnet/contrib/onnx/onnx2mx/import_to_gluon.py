"""`import_to_gluon`: an ONNX file as a block."""

from __future__ import annotations

from typing import Any

from ....gluon import SymbolBlock
from .import_onnx import GraphProto, load

__all__ = ["import_to_gluon"]


def import_to_gluon(model_file: Any, ctx: Any) -> SymbolBlock:
    """A block of an ONNX file, with its parameters.

    Args:
        model_file: the path.
        ctx: the context of the parameters, or a list of contexts.

    Returns:
        The SymbolBlock; its inputs are those of the graph that have no values.

    Raises:
        ImportError: the package onnx is not installed.
        google.protobuf.message.DecodeError, ValueError: the file is no ONNX model.
        OSError: the file cannot be read.
        NotImplementedError: there is no symbol for an operator, or for what it is asked to do; the message names the
            node.

    Example:
        Needs the package onnx::

            net = mx.contrib.onnx.import_to_gluon("net.onnx", mx.cpu())

    Source: `mxnet.contrib.onnx.import_to_gluon` of MXNet 1.9.1.
    """
    model = load(model_file)
    return GraphProto().graph_to_gluon(model.graph, ctx, max(x.version for x in model.opset_import))
