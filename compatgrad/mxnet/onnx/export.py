"""`export_model`: a symbol and its parameters as an ONNX file."""

from __future__ import annotations

import logging
import re
from typing import Any, NoReturn

import numpy as np

from compatgrad.core import notes
from compatgrad.core.files import replacing

from .. import ndarray as nd
from .. import symbol as symbol_module
from ..symbol import Symbol

__all__ = ["export_model", "get_operator_support"]


def get_operator_support(opset_version: int | None = None) -> NoReturn:
    """Raises: there is no list of operators, because `torch.onnx` converts the ATen calls that they make.

    Args:
        opset_version: accepted.

    Returns:
        Nothing.

    Raises:
        NotImplementedError: always.

    Example:
        >>> mx.onnx.get_operator_support()
        Traceback (most recent call last):
            ...
        NotImplementedError: mx.onnx.get_operator_support: operators are not converted one by one; ...

    Source: `mxnet.onnx.get_operator_support` of MXNet 1.9.1.
    """
    raise NotImplementedError(
        "mx.onnx.get_operator_support: operators are not converted one by one; torch.onnx converts the ATen calls they "
        "make, and export_model names the one that it cannot convert"
    )


def export_model(
    sym: Symbol | str,
    params: Any,
    in_shapes: Any = None,
    in_types: Any = np.float32,
    onnx_file_path: str = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Any = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
) -> str:
    """Writes a symbol, in inference mode, as an ONNX file, of the operator set of torch's exporter.

    Args:
        sym: the symbol, or the path of its file.
        params: a dict of its arguments and auxiliary states, a list of two dicts, or, where `sym` is a path, the path
            of their file.
        in_shapes: the shapes of the inputs, in the order of `sym.list_inputs()`, without a label that only the last
            operator reads.
        in_types: their dtype, or a list of dtypes.
        onnx_file_path: the file that is written.
        verbose: logs the nodes.
        dynamic: sizes of inputs vary.
        dynamic_input_shapes: shapes in which None or a name stands for a size that varies; without it, only the first
            dimension of each input varies. None in the first place is the batch, of one size in all inputs; other Nones
            are independent of each other, and equal names are equal sizes.
        run_shape_inference: shapes of intermediate results are written as well.
        input_type, input_shape: older names of `in_types` and `in_shapes`.

    Returns:
        The path of the file.

    Raises:
        ImportError: the package onnx or onnxscript is not installed.
        ValueError: `sym` and `params` are neither objects nor paths, or the number of shapes is not that of the inputs.
        AssertionError: the arguments about shapes do not fit each other.
        compatgrad.interop.ExportError: the result depends on sizes in a way that cannot be exported.

    Example:
        Needs the packages onnx and onnxscript::

            path = mx.onnx.export_model(sym, params, [(1, 3, 224, 224)], np.float32, "net.onnx")

    Source: `mxnet.onnx.export_model` of MXNet 1.9.1, which has a converter for each operator and takes any sizes
        to vary.
    """
    from compatgrad.exporting import export
    from compatgrad.exporting.onnx import model_of, need_onnx

    need_onnx("mx.onnx")
    notes.note_difference("export_model")
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
    if label in sym.list_inputs() and label not in params:  # the loss layer reads it only for the gradient
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


def _loaded(sym: Any, params: Any) -> tuple[Symbol, dict[str, nd.NDArray]]:
    if isinstance(sym, str) and isinstance(params, str):
        sym, params = symbol_module.load(sym), nd.load(params)
    elif not isinstance(sym, symbol_module.Symbol):
        raise ValueError("Input sym and params should either be files or objects")
    if isinstance(params, list) and len(params) == 2:
        params = {**params[0], **params[1]}
    if not isinstance(params, dict):
        raise ValueError("Input sym and params should either be files or objects")
    return sym, {re.sub("^(arg|aux):", "", name): value for name, value in params.items()}


def _shape_of(
    sym: Symbol, name: str, inputs: dict[str, tuple[int, ...]], params: dict[str, nd.NDArray]
) -> tuple[int, ...]:
    shapes = {**inputs, **{key: value.shape for key, value in params.items()}}
    return sym.infer_shape(**shapes)[0][sym.list_arguments().index(name)]


def _varying(names: list[str], in_shapes: Any, dynamic: bool, shapes: Any) -> Any:
    """For each input a dict from the dimensions that vary to their names; False if none varies."""
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


def _output_names(sym: Symbol) -> list[str]:
    """Names of the outputs as in MXNet 1.9.1: without `_output`, and with a number for states of recurrent layers."""
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
