"""`export` writes a network as an ONNX model."""

from __future__ import annotations

import collections
import os
import warnings
from typing import Any

import compatgrad.chainer as chainer
from compatgrad import exporting
from compatgrad.core import notes
from compatgrad.core.files import replacing
from compatgrad.exporting.onnx import model_of, need_onnx

MINIMUM_OPSET_VERSION = 7
MAXIMUM_OPSET_VERSION = 23


def _arguments(args: Any) -> tuple[list[Any], dict[str, Any]]:
    arrays = (*chainer.get_array_types(), chainer.Variable)
    if isinstance(args, arrays):
        return [args], {}
    if isinstance(args, (list, tuple)):
        return list(args), {}
    if isinstance(args, dict):
        return [], dict(args)
    raise ValueError(
        "The 'args' argument should be a list, tuple, dict, numpy array, or Chainer Variable. "
        f"But a {type(args)} object was given."
    )


def _names(who: str, given: Any, default: str, variables: list[Any], keys: list[str]) -> list[str]:
    """The names of `variables`, given as a list, or as a dict from the arguments' names."""
    if isinstance(given, dict):
        if len(keys) != len(variables):
            raise ValueError(f"{who}: expected a list of {len(variables)} names, got a dict")
        if missing := [key for key in keys if key not in given]:
            raise ValueError(f"{who}: no name for {', '.join(map(repr, missing))}")
        return [given[key] for key in keys]
    if given is not None:
        if len(given) != len(variables):
            raise ValueError(f"{who}: expected {len(variables)}, got {len(given)}")
        return list(given)
    return [f"{default}_{i}" for i in range(len(variables))]


def _dynamic(shapes: Any, inputs: list[Any], keys: list[str]) -> Any:
    """`input_shapes` converted to the argument `dynamic` of `interop.export`: a dict of names for each input."""
    if shapes is None:
        return False
    if isinstance(shapes, dict):
        shapes = [shapes[key] for key in keys]
    elif isinstance(shapes, tuple):
        shapes = [shapes]
    if len(shapes) != len(inputs):
        raise ValueError(f"input_shapes: expected {len(inputs)} shapes, got {len(shapes)}")
    result = []
    for x, shape in zip(inputs, shapes, strict=True):
        if len(shape) != x.ndim:
            raise ValueError(f"input_shapes: expected {x.ndim} dimensions, got {shape}")
        result.append({d: n for d, n in enumerate(shape) if isinstance(n, str)} or None)
    return result


def export(
    model: Any,
    args: Any,
    filename: Any = None,
    export_params: bool = True,
    graph_name: str = "Graph",
    save_text: bool = False,
    opset_version: int | None = None,
    input_names: Any = None,
    output_names: Any = None,
    train: bool = False,
    return_named_inout: bool = False,
    external_converters: Any = None,
    external_opset_imports: Any = None,
    input_shapes: Any = None,
    no_testcase: bool = False,
) -> Any:
    """Writes a network as an ONNX model. This needs the packages onnx and onnxscript.

    Args:
        model: the network: a link or function that returns a Variable, or a list, tuple or dict of Variables.
        args: the arguments for one call: an array or Variable, a list or tuple of them, or a dict of them by the names
            of the network's arguments.
        filename: a path or an open binary file to which the model is written; None writes no file.
        export_params: False leaves the parameters' values out: they become inputs.
        graph_name: name of the model's graph.
        save_text: True also writes the model as text, to the path `filename` + ".txt".
        opset_version: version of ONNX's operators, 7 to 23, others with a warning; None is the version of torch's
            exporter.
        input_names: list of names, or a dict from the arguments' names; None is "Input_0", "Input_1", ...
        output_names: list of names; None is "Output_0", "Output_1", ...
        train: True exports layers in training mode.
        return_named_inout: True also returns the inputs and outputs.
        external_converters: not supported; must be None.
        external_opset_imports: not supported; must be None.
        input_shapes: the input's shape, or a list or dict of the inputs' shapes, with a str for each variable
            dimension; None fixes all dimensions.
        no_testcase: with a `filename`, False warns that `export_testcase` should be used instead.

    Returns:
        An `onnx.ModelProto`; with `return_named_inout` a tuple of it and two dicts from names to Variables, for the
        inputs and the outputs.

    Raises:
        ImportError: onnx or onnxscript is not installed.
        NotImplementedError: `external_converters` or `external_opset_imports` is given.
        compatgrad.interop.ExportError: the functions that the network runs depend on values.
        ValueError: `args` or an output has another type, or the number of names or shapes is not that of inputs or
            outputs.

    Example:
        >>> x = np.ones((1, 2), np.float32)
        >>> model = onnx_chainer.export(L.Linear(2, 3), x, input_names=["x"])  # doctest: +SKIP
        >>> [node.name for node in model.graph.input], model.producer_name  # doctest: +SKIP
        (['x'], 'Chainer')

    Source: `onnx_chainer.export` of Chainer 7.8.1.
    """
    need_onnx("onnx_chainer")
    notes.note_difference("onnx_chainer")
    if filename is not None and not no_testcase:
        text = "Exporting ONNX without testcases is deprecated. Use export_testcase instead"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
    if external_converters or external_opset_imports:
        raise NotImplementedError(
            "onnx_chainer.export: external_converters are not supported: torch.onnx converts the graph. Use "
            "compatgrad.interop.export, and custom_translation_table of torch.onnx.export"
        )
    if opset_version is not None and not MINIMUM_OPSET_VERSION <= opset_version <= MAXIMUM_OPSET_VERSION:
        warnings.warn(
            f"onnx_chainer.export: opset {opset_version} is not in {MINIMUM_OPSET_VERSION}..{MAXIMUM_OPSET_VERSION}",
            stacklevel=2,
        )
    positional, named = _arguments(args)
    keys = list(named)
    inputs = [chainer.as_variable(x) for x in [*positional, *named.values()]]
    dynamic = _dynamic(input_shapes, inputs, keys)
    in_names = _names("input_names", input_names, "Input", inputs, keys)
    graph = exporting.export(
        lambda *xs: _flat(model(*xs[: len(positional)], **dict(zip(keys, xs[len(positional) :], strict=True)))),
        inputs, parameters=model, frontend="chainer", dynamic=dynamic, train=train,
    )  # fmt: skip
    tensors = tuple(x.tensor.detach() for x in inputs)
    outputs = [chainer.Variable(y.detach().numpy()) for y in graph(*tensors)]
    out_names = _names("output_names", output_names, "Output", outputs, [])
    proto = model_of(
        graph, tensors, in_names, out_names, dynamic=dynamic, opset_version=opset_version, optimize=export_params
    )
    proto.graph.name, proto.producer_name, proto.producer_version = graph_name, "Chainer", chainer.__version__
    if not export_params:
        _leave_out_parameters(proto.graph, set(graph.state_dict()))
    _write(proto, filename, save_text)
    if not return_named_inout:
        return proto
    by_name = [collections.OrderedDict(zip(n, v, strict=True)) for n, v in ((in_names, inputs), (out_names, outputs))]
    return proto, *by_name


def _flat(outputs: Any) -> tuple[Any, ...]:
    flat = list(outputs.values()) if isinstance(outputs, dict) else outputs
    flat = tuple(flat) if isinstance(flat, (list, tuple)) else (flat,)
    if not all(isinstance(y, chainer.Variable) for y in flat):
        raise ValueError("The all 'outputs' must be Chainer Variable")
    return flat


def _leave_out_parameters(graph: Any, names: set[str]) -> None:
    """Makes the parameters inputs without values, which keep type and shape."""
    from onnx import helper

    for k in reversed(range(len(graph.initializer))):
        tensor = graph.initializer[k]
        if tensor.name in names:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
            del graph.initializer[k]


def _write(proto: Any, filename: Any, save_text: bool) -> None:
    if hasattr(filename, "write"):
        filename.write(proto.SerializeToString())
    elif filename is not None:
        with replacing(filename) as f:
            f.write(proto.SerializeToString())
        if save_text:
            with replacing(f"{os.fspath(filename)}.txt", "w") as f:
                print(proto, file=f)
