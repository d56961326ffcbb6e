"""``function_info``: lists all functions, or those that files use."""

from __future__ import annotations

import sys
from typing import Any

from compatgrad.core.files import replacing

from .. import converter
from ..converter.nnabla import NnpImporter
from ._steps import adds, command

__all__ = ["add_function_info_command"]


@command
def function_info_command(args: Any) -> bool:
    """Prints, or writes to a file, the types of all functions, or of those that files use, one per line.

    Raises:
        NotImplementedError: an option for functions of other formats, for lists by a configuration, or for API levels
            is given.
        OSError: a file cannot be read or written.
        ValueError: a file is broken.

    Example:
        nnabla_cli function_info net.nnp
    """
    for name in ("all_support", "config", "query", "target", "api"):
        if getattr(args, name):
            raise NotImplementedError(f"function_info: {name}={getattr(args, name)!r} is not supported")
    types = converter.func_set_nnabla_support()
    if args.files:
        used = set()
        for path in args.files:
            used |= converter.func_set_import_nnp(
                NnpImporter(path, expand_network=not args.nnp_no_expand_network).execute()
            )
        types &= used
    text = "".join(f"{name}\n" for name in sorted(types - set(args.exclude)))
    if args.output:
        with replacing(args.output, "w") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return True


@adds("function_info net.nnp", "function_info_command", files=["net.nnp"])
def add_function_info_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("function_info", help="print all functions, or those that files use")
    parser.add_argument("files", metavar="FILE", nargs="*", help=".nnp files")
    parser.add_argument("-o", "--output", help="file to write to")
    parser.add_argument("-x", "--exclude", action="append", default=[], help="a function to leave out")
    parser.add_argument("--nnp-no-expand-network", action="store_true", help="leave repeated parts as they are")
    parser.add_argument("-f", "--all_support", help="functions of the format NNB or ONNX; not supported")
    parser.add_argument("-c", "--config", help="file that limits --all_support; not supported")
    parser.add_argument("-q", "--query", help="details of a function; not supported")
    parser.add_argument("-t", "--target", action="store_true", help="not supported")
    parser.add_argument("--api", type=int, default=0, help="API levels; not supported")
    parser.set_defaults(func=function_info_command)
