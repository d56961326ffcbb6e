"""``convert`` and ``dump``: network files in other forms, and what they hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .. import converter

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
    """Takes the formats from the names of the files where these tell."""
    if len(import_files) == 1:
        args.import_format = _FORMATS.get(os.path.splitext(import_files[0])[1], args.import_format)
    if export_file is None:
        args.export_format = ""
    else:
        args.export_format = _FORMATS.get(os.path.splitext(export_file)[1], args.export_format)


def dump_command(args: Any) -> bool:
    """Prints what files hold."""
    resolve_file_format(args, args.files)
    return converter.dump_files(args, args.files)


def convert_command(args: Any) -> bool:
    """Converts files to the last one; False, with a message, where there is only one."""
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
    parser.add_argument("--nnp-no-expand-network", action="store_true", help="leave repeated parts as they are")


def add_convert_command(subparsers: Any) -> None:
    """Adds the commands ``dump`` and ``convert``."""
    parser = subparsers.add_parser("dump", help="print what network files hold")
    parser.add_argument("-v", "--dump-verbose", action="store_true", help="every field")
    parser.add_argument("-F", "--dump-functions", action="store_true", help="the functions too")
    parser.add_argument("-V", "--dump-variables", action="store_true", help="the functions' variables too")
    parser.add_argument("--dump-limit", type=int, default=-1, help="entries of a list to print")
    parser.add_argument("-n", "--dump-variable-name", help="only the variable of that name")
    _add_import_arguments(parser)
    parser.set_defaults(func=dump_command)

    parser = subparsers.add_parser("convert", help="convert network files; the last one is written")
    _add_import_arguments(parser)
    formats = ", ".join(converter.formats.export_name)
    parser.add_argument("-O", "--export-format", default="NNP", help=f"format to write, of {formats}")
    parser.add_argument("-f", "--force", action="store_true", help="accepted: files are overwritten")
    parser.add_argument(
        "-b", "--batch-size", type=int, default=1, help="samples per batch (1); -1 takes the number from the .nnp file"
    )
    parser.add_argument("-S", "--split", help='parts of the network to write, with -E: "0-3,4-"')
    parser.add_argument("-c", "--config", help="for ONNX, the version of its operators (opset_13)")
    parser.add_argument("--nnp-parameter-h5", action="store_true", help="parameters as .h5")
    parser.add_argument("--nnp-parameter-nntxt", action="store_true", help="parameters with the network")
    parser.add_argument("--nnp-exclude-parameter", action="store_true", help="no parameters")
    parser.add_argument("--nnp-version", help="version of nnabla to write for; not supported")
    parser.set_defaults(func=convert_command)
