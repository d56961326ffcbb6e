"""`python -m compatgrad convert`: converts parameter files of the frameworks to files for torch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from compatgrad.interop import files, weights
from compatgrad.tools import _networks
from compatgrad.tools._parser import parser_of
from compatgrad.tools._words import count

_DESCRIPTION = """\
Reads the parameters in IN and writes them to OUT, without the framework that wrote IN. Nothing in IN is executed.

IN    Chainer   .npz, .h5, .hdf5    a model or the snapshot of a whole trainer
      nnabla    .h5, .hdf5, .protobuf, .nntxt, .prototxt, .nnp
      MXNet     .params
                .safetensors
      A file with another extension, such as a Chainer snapshot, is recognized by its content.
OUT   .safetensors, or .pt or .pth: a torch state dict, for torch.load(OUT)

Names, shapes and types stay as they are in IN, unless --to torch is given: then parameters of known layers get torch's
names and layouts (weight, bias, running_mean, gates of recurrent layers in torch's order), and the others, which are
listed with the reason, keep theirs. Parameters that have no value yet are left out.

With --like FILE, IN is a state dict of torch with these names, and OUT a file that the framework of FILE loads: a copy
of FILE (.npz, .h5, .hdf5, .protobuf, .nnp or .params) with the values in IN.

Networks: with --to torch, a network (nnabla's .nnp, or MXNet's -symbol.json with --params) becomes a Python file of
torch.nn layers if OUT is a folder or a name that ends in .py; the state dict is written beside it. Outputs and
gradients of both networks are compared. --like takes such a file, too, for state dicts of this source.
"""
_EPILOG = """\
PREFIX and OLD must end at the end of a part of a name, that is before /, . or :, unless they themselves end with one of
these characters or with _. So l1 is a prefix of l1/W but not of l10/W; dense0_ is a prefix of dense0_weight.

examples:
  python -m compatgrad convert model.npz model.safetensors
  python -m compatgrad convert --list snapshot_iter_1000
  python -m compatgrad convert snapshot_iter_1000 model.pt --model main --map predictor/l1/W=l1.weight
  python -m compatgrad convert net-0020.params net.safetensors --map arg:= --map aux:=
  python -m compatgrad convert model.npz model.pt --to torch
  python -m compatgrad convert trained.pt trained.npz --like model.npz
  python -m compatgrad convert net.nnp made/ --to torch
  python -m compatgrad convert trained.pt trained.nnp --like net.nnp
  python -m compatgrad convert net-symbol.json made/ --to torch --params net-0000.params --input data=1x3x224x224
  python -m compatgrad convert trained.pt net-0001.params --like net-symbol.json --params net-0000.params \\
      --input data=1x3x224x224
"""


def _change(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected OLD=NEW, got {text!r}")
    return old, new


def _parser() -> argparse.ArgumentParser:
    usage = "python -m compatgrad convert [OPTION ...] IN OUT\n       python -m compatgrad convert --list IN"
    parser = parser_of("convert", _DESCRIPTION, usage=usage, epilog=_EPILOG)
    parser.add_argument("input", metavar="IN", help="the file to read")
    parser.add_argument("output", metavar="OUT", nargs="?", help="the file to write")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--prefix", help="take only the names that begin with PREFIX, and remove it")
    part.add_argument(
        "--model", metavar="NAME", help="the same as --prefix updater/model:NAME/, for snapshots; NAME is usually main"
    )
    parser.add_argument(
        "--map",
        metavar="OLD=NEW",
        type=_change,
        action="append",
        default=[],
        help="replace OLD at the beginning of names by NEW; may be repeated, the first that fits is used",
    )
    parser.add_argument("--to", choices=["torch"], help="give known layers torch's names and layouts")
    parser.add_argument("--like", metavar="FILE", help="write a copy of the original's FILE, with the values in IN")
    networks = parser.add_argument_group("networks")
    networks.add_argument("--params", metavar="FILE", help="the .params file with the parameters of a symbol")
    networks.add_argument("--network", metavar="NAME", help="the network in a .nnp file that contains several")
    networks.add_argument(
        "--input",
        metavar="NAME=SHAPE",
        dest="input_shapes",
        action="append",
        default=[],
        help="the shape of an input, such as data=1x3x224x224, or ids=8x20:int for integers; may be repeated",
    )
    networks.add_argument("--keep", action="store_true", help="what cannot be written stays a call of compatgrad")
    parser.add_argument("--list", action="store_true", help="print names, shapes and types, and write nothing")
    parser.add_argument("--force", action="store_true", help="replace OUT if it exists")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code: 1 for an error in IN or OUT, 2 for a wrong command line."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list == bool(options.output):
        parser.error("--list takes no OUT: nothing is written" if options.list else "OUT is missing (or --list)")
    to_source = options.to == "torch" and bool(options.output) and _networks.has_network(options.input)
    to_source = to_source and not options.output.endswith((".pt", ".pth", ".safetensors"))
    given = options.params or options.network or options.input_shapes or options.keep
    if given and not to_source and not (options.like and _networks.has_network(options.like)):
        parser.error(
            "--params, --network, --input and --keep are for networks: --to torch with a folder as OUT, or --like"
        )
    if options.like and (options.to or options.list or options.prefix or options.model):
        parser.error("--like takes no --to, --list, --prefix or --model")
    try:
        if options.like:
            _check_free(options.output, options.force)
            _back(options)
            return 0
        if to_source:
            _to_source(options)
            return 0
        if options.output:
            files.writer(options.output)
            _check_free(options.output, options.force)
        _run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed the pipe; Python would print an error at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, ImportError) as error:
        print(f"compatgrad: {error}", file=sys.stderr)
        return 1
    return 0


def _check_free(path: str, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise ValueError(f"{path} exists: --force replaces it")


def _shown(name: str) -> str:
    """The name, with characters that are safe for a terminal."""
    return name if name.isprintable() and name else repr(name)


def _back(options: argparse.Namespace) -> None:
    """Writes a file of the framework with the values of a state dict."""
    if options.input.endswith(".safetensors"):
        tensors = files.read_parameters(options.input)
    else:
        found: Any = torch.load(options.input, map_location="cpu", weights_only=True)
        if not isinstance(found, Mapping) or not all(isinstance(t, torch.Tensor) for t in found.values()):
            raise ValueError(f"{options.input}: expected a state dict of tensors")
        tensors = dict(found)
    tensors = files.rename(tensors, options.map)
    if _networks.has_network(options.like) and not _networks.has_names(options.like, tensors):
        result = _networks.written(options.like, options.params, options.network, options.input_shapes, options.keep)
        unused = _networks.new_values(result, tensors, options.output, options.params or options.like)
    else:
        unused = weights.write_like(options.output, options.like, tensors)
    if unused:
        print(f"  not in {options.like}: {', '.join(map(_shown, unused))}")
    print(f"{options.output}: written, {count(os.path.getsize(options.output), 'byte')}")


def _to_source(options: argparse.Namespace) -> None:
    """Writes a network as source of torch, and its state dict."""
    result = _networks.written(options.input, options.params, options.network, options.input_shapes, options.keep)
    source, tensors = result.save(options.output, force=options.force)
    for mode, found in result.differences.items():
        print(f"{options.input}: class {result.name}; {mode} mode differs by at most: {found.text()}")
    for path, why in result.kept.items():
        print(f"  calls compatgrad: {path}: {why}")
    for note in result.notes:
        print(f"  note: {note}")
    if result.unused:
        print(f"  not used: {', '.join(map(_shown, result.unused))}")
    for name in (source, tensors):
        print(f"{name}: written, {count(os.path.getsize(name), 'byte')}")


def _run(options: argparse.Namespace) -> None:
    prefix = options.prefix if options.model is None else f"updater/model:{options.model}/"
    contents = files.load(options.input, prefix, refuse=not options.list)
    given = contents.tensors
    kept: dict[str, str] = {}
    if options.to:
        given, kept = weights.to_torch(given, weights.framework_of(options.input))
    tensors = files.rename(given, options.map)
    values = sum(tensor.numel() for tensor in tensors.values())
    size = sum(tensor.nbytes for tensor in tensors.values())
    summary = f"{count(len(tensors), 'parameter')}, {count(values, 'value')}, {count(size, 'byte')}"
    print(f"{options.input}: {contents.format}; {summary}", flush=True)
    if options.list:
        rows = [(_shown(name), str(tuple(t.shape)), str(t.dtype)[6:]) for name, t in tensors.items()]
        rows += [(_shown(name), "no value", "") for name in contents.empty]
        rows += [(_shown(name), "no tensor:", reason) for name, reason in contents.refused.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        for name, shape, kind in rows:
            print(f"  {name:{widths[0]}}  {shape:{widths[1]}}  {kind}".rstrip())
        return
    for name, why in kept.items():
        print(f"  not renamed: {_shown(name)}: {why}")
    if contents.empty:
        print(f"  left out, having no value: {', '.join(map(_shown, contents.empty))}")
    if not tensors:
        raise ValueError(f"{options.input}: no parameter has a value")
    _check_free(options.output, options.force)  # another program may have created it meanwhile
    files.write_parameters(options.output, tensors)
    print(f"{options.output}: written, {count(os.path.getsize(options.output), 'byte')}")
