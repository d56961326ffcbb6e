"""``optimize``: replaces a network by one with fewer functions and the same results."""

from __future__ import annotations

import os
from typing import Any

from ...core import graph_def
from ..converter.nnabla.optimizer import optimize_nnp
from ._steps import adds, command

__all__ = ["add_optimize_command"]


@command
def optimization_command(args: Any) -> bool:
    """Writes a new .nnp file, in which the first network has fewer functions and the same results.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: a file is damaged, or not a .nnp file.

    Example:
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.cli.optimize_model import optimization_command
        >>> from compatgrad.nnabla.core import graph_def
        >>> graph_def.create_graph_from_variable("net", PF.affine(nn.Variable((2, 3)), 4)).save("net.nnp")
        >>> optimization_command(SimpleNamespace(input_file=["net.nnp"], output_file=["small.nnp"]))
        True
    """
    (source,), (target,) = args.input_file, args.output_file
    for path in (source, target):
        if os.path.splitext(path)[1] != ".nnp":
            raise ValueError(f"optimize: {path} is no .nnp file, and no other format is supported")
    graph = graph_def.load(source)
    network = optimize_nnp(graph)
    graph.networks[network.name] = network
    graph.save(target)
    return True


@adds("optimize net.nnp small.nnp", "optimization_command", input_file=["net.nnp"])
def add_optimize_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("optimize", help="write a network with fewer functions")
    parser.add_argument("input_file", nargs=1, help=".nnp file to read")
    parser.add_argument("output_file", nargs=1, help=".nnp file to write")
    parser.set_defaults(func=optimization_command)
