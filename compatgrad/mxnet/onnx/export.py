"""`export_model`: a symbol and its parameters as an ONNX file."""

import logging
import re

import numpy as np

from compatgrad.core.files import replacing

from .. import ndarray as nd
from .. import symbol as symbol_module

__all__ = ["export_model", "get_operator_support"]


def get_operator_support(opset_version=None):
    """NotImplementedError: there is no list of operators, since what is converted are the ATen calls that they make."""
    raise NotImplementedError(
        "mx.onnx.get_operator_support: operators are not converted one by one; torch.onnx converts the ATen calls they "
        "make, and export_model names the one that it cannot convert"
    )


def export_model(
    sym,
    params,
    in_shapes=None,
    in_types=np.float32,
    onnx_file_path="model.onnx",
    verbose=False,
    dynamic=False,
    dynamic_input_shapes=None,
    run_shape_inference=False,
    input_type=None,
    input_shape=None,
):
    """Writes a symbol, in inference mode, as an ONNX file, and returns the file's path.

    sym, params: a Symbol and a dict of its arguments and auxiliary states, or a list of two dicts; or the paths of the
    files of both. in_shapes: the shapes of the inputs, in the order of `sym.list_inputs()`; a label that only the last
    operator reads is none of them. in_types: their dtype, or a list of dtypes. dynamic: sizes vary: those that are
    None, or a name, in `dynamic_input_shapes`; without these the first dimension of each input. A None in the first
    place is the batch, of one size in all inputs; other Nones differ from each other, equal names are equal sizes.
    run_shape_inference: shapes of what lies between inputs and outputs are written as well. input_type, input_shape:
    older names of in_types, in_shapes. The opset is that of torch's exporter.

    ImportError without onnx and onnxscript; ValueError, AssertionError for wrong arguments; `interop.ExportError` where
    the result depends on sizes in no known way.

        path = mx.onnx.export_model(sym, params, [(1, 3, 224, 224)], np.float32, "net.onnx")

    As MXNet 1.9.1's, which has a converter for each operator and takes any sizes to vary.
    """
    from compatgrad.exporting import export
    from compatgrad.exporting.onnx import model_of, need_onnx

    need_onnx("mx.onnx")
    sym, params = _loaded(sym, params)
    in_shapes = in_shapes if input_shape is None else input_shape
    in_types = in_types if input_type is None else input_type
    if not isinstance(in_types, list):
        in_types = [in_types] * len(in_shapes)
    assert len(in_types) == len(in_shapes), "The lengths of in_types and in_shapes must equal"
    internals = sym.get_internals()
    label = internals[len(internals) - 1].name + "_label"
    names = [name for name in sym.list_inputs() if name not in params and name != label]
    if len(names) != len(in_shapes):
        raise ValueError(f"export_model: the symbol has the inputs {names}, and {len(in_shapes)} shapes were given")
    used = {name: params[name] for name in sym.list_inputs() if name in params}
    if label in sym.list_inputs() and label not in params:  # the loss layer reads it for its gradient alone
        used[label] = nd.zeros(_shape_of(sym, label, dict(zip(names, map(tuple, in_shapes), strict=True)), used))
    varying = _varying(names, in_shapes, dynamic, dynamic_input_shapes)
    inputs = [nd.ones(tuple(s), dtype=t) for s, t in zip(in_shapes, in_types, strict=True)]
    graph = export(
        lambda *xs: sym.eval_imperative({**used, **dict(zip(names, xs, strict=True))}),
        inputs, parameters=used, frontend="mxnet", dynamic=varying,
    )  # fmt: skip
    tensors = [x.tensor.detach() for x in inputs]
    proto = model_of(graph, tensors, names, _output_names(sym), dynamic=varying)
    proto.graph.name, proto.producer_name = "mxnet_converted_model", "MXNet"
    if run_shape_inference:
        import onnx

        proto = onnx.shape_inference.infer_shapes(proto)
    if verbose:
        for node in proto.graph.node:
            logging.info("ONNX node %s of type %s", node.name, node.op_type)
    with replacing(onnx_file_path) as f:
        f.write(proto.SerializeToString())
    logging.info("Exported ONNX file %s, inputs of shapes %s", onnx_file_path, in_shapes)
    return onnx_file_path


def _loaded(sym, params):
    if isinstance(sym, str) and isinstance(params, str):
        sym, params = symbol_module.load(sym), nd.load(params)
    elif not isinstance(sym, symbol_module.Symbol):
        raise ValueError("Input sym and params should either be files or objects")
    if isinstance(params, list) and len(params) == 2:
        params = {**params[0], **params[1]}
    if not isinstance(params, dict):
        raise ValueError("Input sym and params should either be files or objects")
    return sym, {re.sub("^(arg|aux):", "", name): value for name, value in params.items()}


def _shape_of(sym, name, inputs, params):
    shapes = {**inputs, **{key: value.shape for key, value in params.items()}}
    return sym.infer_shape(**shapes)[0][sym.list_arguments().index(name)]


def _varying(names, in_shapes, dynamic, shapes):
    """For each input a dict from the dimensions that vary to their names; False where none do."""
    if not dynamic:
        assert shapes is None, "dynamic_input_shapes is specified. Please set dynamic=True as well"
        return False
    if shapes is None:
        shapes = [(None, *shape[1:]) for shape in in_shapes]
    assert len(in_shapes) == len(shapes), "The length of dynamic_input_shapes must equal to the length of in_shapes."
    result = []
    for name, fixed, shape in zip(names, in_shapes, shapes, strict=True):
        assert len(fixed) == len(shape), "The dimensionality of each shape must match."
        named = {d: n or ("batch" if d == 0 else f"{name}_{d}") for d, n in enumerate(shape) if not isinstance(n, int)}
        result.append(named or None)
    return result if any(result) else False


def _output_names(sym):
    """As MXNet 1.9.1 names them: without `_output`, and states of recurrent layers by a number."""
    names = []
    for name in sym.list_outputs():
        for end, new in (("_state_output", "1"), ("_statecell_output", "2"), ("_output", "")):
            if name.endswith(end):
                name = name[: -len(end)] + new
                break
        else:
            name = re.sub("_output([0-9])$", r"\1", name)
        names.append(name)
    return names
