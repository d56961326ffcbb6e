"""``convert`` and ``dump``: convert network files to other formats, and print their contents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .. import converter
from ._steps import adds, command

__all__ = ["add_convert_command"]

_FORMATS = {
    ".nnp": "NNP",
    ".nntxt": "NNP",
    ".prototxt": "NNP",
    ".onnx": "ONNX",
    ".pb": "TF_PB",
    ".nnb": "NNB",
    ".ckpt": "TF_CKPT_V1",
    ".meta": "TF_CKPT_V2",
    ".tflite": "TFLITE",
}


def resolve_file_format(args: Any, import_files: Sequence[str], export_file: str | None = None) -> None:
    """Determines the formats from the names of the files, where possible.

    Args:
        args: the options of the command line; `import_format` and `export_format` are set.
        import_files: the files to read.
        export_file: the file to write, if there is one.

    Raises:
        Nothing.

    Example:
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.cli.convert import resolve_file_format
        >>> args = SimpleNamespace(import_format="?", export_format="?")
        >>> resolve_file_format(args, ["net.nnp"], "net.onnx")
        >>> args.import_format, args.export_format
        ('NNP', 'ONNX')

    Source: `nnabla.utils.cli.convert.resolve_file_format` of nnabla 1.39.0.
    """
    if len(import_files) == 1:
        args.import_format = _FORMATS.get(os.path.splitext(import_files[0])[1], args.import_format)
    if export_file is None:
        args.export_format = ""
    else:
        args.export_format = _FORMATS.get(os.path.splitext(export_file)[1], args.export_format)


@command
def dump_command(args: Any) -> bool:
    """Prints the contents of files.

    Example:
        nnabla_cli dump -F net.nnp
    """
    resolve_file_format(args, args.files)
    return converter.dump_files(args, args.files)


@command
def convert_command(args: Any) -> bool:
    """Converts files; the last one is written.

    Returns:
        Whether it succeeded; False, with a message, where only one file is given.

    Raises:
        NotImplementedError: a format is not supported.
        ValueError: a file is broken, or an option is not known.

    Example:
        nnabla_cli convert -b 16 net.nnp net.onnx
    """
    if len(args.files) < 2:
        print("Input and Output arg is mandatory.")
        return False
    *files, output = args.files
    resolve_file_format(args, files, output)
    return converter.convert_files(args, files, output)


def _add_import_arguments(parser: Any) -> None:
    formats = ", ".join(converter.formats.import_name)
    parser.add_argument("files", metavar="FILE", nargs="+", help="files to read")
    parser.add_argument("-I", "--import-format", default="NNP", help=f"format of the files to read; one of {formats}")
    parser.add_argument("-E", "--nnp-import-executor-index", type=int, help="read only that executor")
    parser.add_argument("--nnp-exclude-preprocess", action="store_true", help="accepted, without effect")
    parser.add_argument("--nnp-no-expand-network", action="store_true", help="do not expand repeated parts")


@adds("convert net.nnp net.onnx", "convert_command", also="dump", files=["net.nnp", "net.onnx"])
def add_convert_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("dump", help="print the contents of network files")
    parser.add_argument("-v", "--dump-verbose", action="store_true", help="every field")
    parser.add_argument("-F", "--dump-functions", action="store_true", help="print the functions, too")
    parser.add_argument("-V", "--dump-variables", action="store_true", help="print the functions' variables, too")
    parser.add_argument("--dump-limit", type=int, default=-1, help="entries of a list to print")
    parser.add_argument("-n", "--dump-variable-name", help="only the variable with this name")
    _add_import_arguments(parser)
    parser.set_defaults(func=dump_command)

    parser = subparsers.add_parser("convert", help="convert network files; the last one is written")
    _add_import_arguments(parser)
    formats = ", ".join(converter.formats.export_name)
    parser.add_argument("-O", "--export-format", default="NNP", help=f"format to write, of {formats}")
    parser.add_argument("-f", "--force", action="store_true", help="accepted: files are overwritten")
    parser.add_argument(
        "-b", "--batch-size", type=int, default=1, help="samples per batch (1); -1 for the number in the .nnp file"
    )
    parser.add_argument("-S", "--split", help='parts of the network to write, with -E: "0-3,4-"')
    parser.add_argument("-c", "--config", help="for ONNX, the version of its operators (opset_13)")
    parser.add_argument("--nnp-parameter-h5", action="store_true", help="parameters as .h5")
    parser.add_argument("--nnp-parameter-nntxt", action="store_true", help="write parameters and network to one file")
    parser.add_argument("--nnp-exclude-parameter", action="store_true", help="no parameters")
    parser.add_argument("--nnp-version", help="version of nnabla to write for; not supported")
    parser.set_defaults(func=convert_command)
