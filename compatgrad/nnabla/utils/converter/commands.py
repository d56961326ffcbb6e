"""The implementation of ``nnabla_cli convert`` and ``dump``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from ...logger import logger
from .. import nnabla_pb2
from .nnabla import NnpExporter, NnpImporter
from .supported_info import formats
from .utils import search_network

__all__ = ["convert_files", "dump_files", "nnb_template"]

_OTHERS = "compatgrad can read NNP, and write NNP and ONNX"


def _import_file(args: Any, ifiles: Sequence[str]) -> Any:
    if args.import_format not in formats.import_name:
        raise NotImplementedError(f"import format {args.import_format!r}: {_OTHERS}")
    return NnpImporter(
        *ifiles, expand_network=not args.nnp_no_expand_network, executor_index=args.nnp_import_executor_index
    ).execute()


def _export(args: Any, nnp: Any, output: str) -> None:
    if args.export_format == "ONNX":
        from .onnx import OnnxExporter  # imported here because it imports torch's exporter

        OnnxExporter(nnp, args.batch_size, getattr(args, "config", None)).execute(output)
        logger.info("Converting: %s successfully!", output)
        return
    kind = "protobuf"
    if args.nnp_exclude_parameter:
        kind = "none"
    elif args.nnp_parameter_h5:
        kind = "h5"
    elif args.nnp_parameter_nntxt:
        kind = "included"
    NnpExporter(nnp, args.batch_size, kind).execute(output)
    logger.info("Converting: %s successfully!", output)


def convert_files(args: Any, ifiles: Sequence[str], output: str) -> bool:
    """Converts files, like `nnabla_cli convert`. With `split` ("0-3,4-"), parts of the network of the executor are
    written to separate files, which are named by the numbers of their functions. For ONNX, `config` is the version of
    the operators ("opset_13").

    Args:
        args: the options of the command line, as attributes.
        ifiles: the files to read.
        output: the file to write.

    Returns:
        True.

    Raises:
        ImportError: the output is ONNX, and onnx or onnxscript is not installed.
        NotImplementedError: a format, or `config`, is not supported.
        OSError: a file cannot be read or written.
        ValueError: a file is broken, `split` does not fit, or another version of nnabla is requested.

    Example:
        >>> import argparse
        >>> from compatgrad.nnabla.core import graph_def
        >>> from compatgrad.nnabla.utils.cli.convert import add_convert_command
        >>> from compatgrad.nnabla.utils.converter import convert_files
        >>> x = nn.Variable((2, 3))
        >>> made = graph_def.create_graph_from_variable("net", F.relu(x), names={"x": x})
        >>> run = {"name": "run", "network": "net", "data": ["x"], "output": made["net"].outputs}
        >>> made.save("net.nnp", executors=[run])
        >>> parser = argparse.ArgumentParser()
        >>> add_convert_command(parser.add_subparsers())
        >>> convert_files(parser.parse_args(["convert", "net.nnp", "new.nnp"]), ["net.nnp"], "new.nnp")
        True
        >>> list(graph_def.load("new.nnp").networks)
        ['net']

    Source: `nnabla.utils.converter.convert_files` of nnabla 1.39.0.
    """
    if args.export_format not in formats.export_name:
        raise NotImplementedError(f"export format {args.export_format!r}: {_OTHERS}")
    if getattr(args, "config", None) is not None and args.export_format != "ONNX":
        raise NotImplementedError(f"convert: config={args.config!r} is not supported")
    if getattr(args, "nnp_version", None) is not None:
        raise ValueError(f"convert: writing for nnabla {args.nnp_version!r} is not supported (nnp_version)")
    nnp = _import_file(args, ifiles)
    if getattr(args, "split", None) is None:
        _export(args, nnp, output)
        return True
    if args.nnp_import_executor_index is None:
        raise ValueError("convert: split needs nnp_import_executor_index (-S needs -E)")
    stem, extension = os.path.splitext(output)
    for first, last in _ranges(args.split, len(nnp.protobuf.network[0].function)):
        part = SimpleNamespace(protobuf=_shrunk(nnp.protobuf, first, last), other_files=nnp.other_files)
        _export(args, part, f"{stem}_{first}_{last}{extension}")
    return True


def _ranges(text: str, count: int) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        found = (int(first or 0), int(last or count - 1))
        if not dash or not 0 <= found[0] <= found[1] < count:
            raise ValueError(f"convert: split={text!r}: expected ranges like '0-3,4-' of functions 0 to {count - 1}")
        yield found


def _shrunk(proto: Any, first: int, last: int) -> Any:
    """A message with the functions `first` to `last` of the network, and an executor from the inputs of `first` to the
    outputs of `last`."""
    network, executor = proto.network[0], proto.executor[0]
    functions = list(network.function)[first : last + 1]
    used = {name for f in functions for name in (*f.input, *f.output)}
    kinds = {v.name: v.type for v in network.variable if v.name in used}
    result = nnabla_pb2.NNablaProtoBuf()
    made = result.network.add(name=network.name, batch_size=network.batch_size)
    for variable in network.variable:
        if variable.name in used:
            made.variable.add().CopyFrom(variable)
    for function in functions:
        made.function.add().CopyFrom(function)
    for parameter in proto.parameter:
        if parameter.variable_name in used:
            result.parameter.add().CopyFrom(parameter)
    part = result.executor.add()
    part.CopyFrom(executor)
    for field, names in (("data_variable", functions[0].input), ("output_variable", functions[-1].output)):
        part.ClearField(field)
        for name in names:
            if kinds[name] == "Buffer":
                getattr(part, field).add(variable_name=name)
    for field in ("generator_variable", "parameter_variable"):
        part.ClearField(field)
        for entry in getattr(executor, field):
            if entry.variable_name in used:
                getattr(part, field).add().CopyFrom(entry)
    return result


def nnb_template(args: Any, ifiles: Sequence[str], output: str) -> bool:
    """Raises an error, because compatgrad cannot write files of nnabla's C runtime.

    Args:
        args: the options of the command line, as attributes.
        ifiles: the files to read.
        output: the file to write.

    Returns:
        Nothing, as it raises an error.

    Raises:
        NotImplementedError: always.

    Example:
        >>> from compatgrad.nnabla.utils.converter import nnb_template
        >>> nnb_template(None, ["net.nnp"], "net.yaml")
        Traceback (most recent call last):
            ...
        NotImplementedError: nnb_template: compatgrad can read NNP, and write NNP and ONNX

    Source: `nnabla.utils.converter.nnb_template` of nnabla 1.39.0.
    """
    raise NotImplementedError(f"nnb_template: {_OTHERS}")


def dump_files(args: Any, ifiles: Sequence[str]) -> bool:
    """Prints the contents of files, like `nnabla_cli dump`.

    Args:
        args: the options of the command line, as attributes.
        ifiles: the files to read.

    Returns:
        True.

    Raises:
        NotImplementedError: the format is not supported.
        OSError: a file cannot be read.
        ValueError: a file is broken, a network has a parameter that the files lack, or it lacks the requested variable.

    Example:
        >>> import argparse
        >>> from compatgrad.nnabla.core import graph_def
        >>> from compatgrad.nnabla.utils.cli.convert import add_convert_command
        >>> from compatgrad.nnabla.utils.converter import dump_files
        >>> x = nn.Variable((2, 3))
        >>> made = graph_def.create_graph_from_variable("net", F.relu(x), names={"x": x})
        >>> run = {"name": "run", "network": "net", "data": ["x"], "output": made["net"].outputs}
        >>> made.save("net.nnp", executors=[run])
        >>> parser = argparse.ArgumentParser()
        >>> add_convert_command(parser.add_subparsers())
        >>> dump_files(parser.parse_args(["dump", "-F", "net.nnp"]), ["net.nnp"])
          Executor [0]: run
          Executor [0]:  (In) Data      variable[0]: Name:x                              Shape:[2, 3]
          Executor [0]:  (Out)Output    variable[0]: Name:@net/ReLU_out                  Shape:[2, 3]
          Executor [0]:   Function[  0  ]: Type: ReLU                 Name: @net/ReLU
        True

    Source: `nnabla.utils.converter.dump_files` of nnabla 1.39.0.
    """
    nnp = _import_file(args, ifiles)
    if args.dump_verbose:
        _dump_message(nnp.protobuf, [args.import_format], args.dump_limit)
        return True
    proto = nnp.protobuf
    held = {p.variable_name for p in proto.parameter}
    for network in proto.network:
        for variable in network.variable:
            if variable.type == "Parameter" and variable.name not in held:
                raise ValueError(f"network {network.name!r} lacks the parameter {variable.name!r}; give its file too")
    of_all = (("(In) Data     ", "data_variable"), ("(In) Generator", "generator_variable"))
    loss = ("(Out)Loss     ", "loss_variable")
    for title, parts, ends in (
        ("Optimizer", proto.optimizer, (loss,)),
        ("Monitor  ", proto.monitor, (("(Out)Monitor  ", "monitor_variable"),)),
        ("Executor ", proto.executor, (loss, ("(Out)Output   ", "output_variable"))),
    ):
        for i, part in enumerate(parts):
            prefix = f"  {title}[{i}]: "
            network = search_network(proto, part.network_name)
            print(f"{prefix}{part.name}")
            _dump_part(args, prefix, part, network, (*of_all, *ends))
    return True


def _dump_part(args: Any, prefix: str, part: Any, network: Any, fields: Sequence[tuple[str, str]]) -> None:
    shapes = {v.name: list(v.shape.dim) for v in network.variable}
    for title, field in fields:
        for i, entry in enumerate(getattr(part, field)):
            shape = shapes.get(entry.variable_name, " - ")
            print(f"{prefix} {title} variable[{i}]: Name:{entry.variable_name:30} Shape:{shape}")
    name = args.dump_variable_name
    if name:
        if name not in shapes:
            raise ValueError(f"network {network.name!r} has no variable {name!r}")
        print(f"Variable Name: {name:20} Shape: {shapes[name]}")
        return
    for i, function in enumerate(network.function if args.dump_functions else ()):
        line = f"{prefix}  Function[{i:^5}]: "
        print(f"{line}Type: {function.type:20} Name: {function.name}")
        if args.dump_variables:
            for kind, names in ((" Input", function.input), ("Output", function.output)):
                for k, v in enumerate(names):
                    print(f"{line} {kind}{k}: Name: {v:20} Shape: {shapes[v]}")


def _dump_message(message: Any, path: list[str], limit: int) -> None:
    """Prints the fields of a message, and of each list the first `limit` entries (all but the last for -1)."""
    where = ":".join(path)
    for field, value in message.ListFields():
        if isinstance(value, (int, float, str)):
            print(f"{where}:{field.name}: {value}")
        elif hasattr(value, "ListFields"):
            _dump_message(value, [*path, field.name], limit)
        else:
            entries = list(value.values() if isinstance(value, dict) else value)
            print(f"{where} has {len(entries)} {field.name}(s).")
            for n, entry in enumerate(entries[:limit]):
                if hasattr(entry, "ListFields"):
                    _dump_message(entry, [*path, f"{field.name}[{n}]"], limit)
                else:
                    print(f"{where}:{field.name}[{n}]: {entry}")
