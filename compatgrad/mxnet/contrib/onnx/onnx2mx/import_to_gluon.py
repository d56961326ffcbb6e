"""`import_to_gluon`: an ONNX file as a block."""

from .import_onnx import GraphProto, load

__all__ = ["import_to_gluon"]


def import_to_gluon(model_file, ctx):
    """The SymbolBlock of an ONNX file, with its parameters in the context `ctx`, or in each of a list of them.

    Errors as of `import_model`.
    """
    model = load(model_file)
    return GraphProto().graph_to_gluon(model.graph, ctx, max(x.version for x in model.opset_import))
