"""`import_model`: an ONNX file as a symbol with its parameters."""

from .import_onnx import GraphProto, load

__all__ = ["get_model_metadata", "import_model"]


def import_model(model_file):
    """The symbol of an ONNX file, and two dicts of NDArrays by name: its arguments' and its auxiliary states' values.

    model_file: a path. Inputs of the graph that have no values are the symbol's inputs, under their names.
    ImportError without onnx; NotImplementedError, which names the node, where there is no symbol for an operator or
    for what it is asked to do.

        sym, arg_params, aux_params = mx.contrib.onnx.import_model("net.onnx")
    """
    model = load(model_file)
    return GraphProto().from_onnx(model.graph, max(x.version for x in model.opset_import))


def get_model_metadata(model_file):
    """A dict of the inputs, `input_tensor_data`, as tuples of name, shape and ONNX's number of the type, and of the
    outputs, `output_tensor_data`, as tuples of name and shape. Sizes that vary are 0. ImportError without onnx.
    """
    return GraphProto().get_graph_metadata(load(model_file).graph)
