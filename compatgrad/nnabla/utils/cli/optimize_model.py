"""``optimize``: networks with fewer functions that compute the same."""

from __future__ import annotations

import os
from typing import Any

from ...core import graph_def
from ..converter.nnabla.optimizer import optimize_nnp

__all__ = ["add_optimize_command"]


def optimization_command(args: Any) -> bool:
    """Writes the first network of a .nnp file anew, with fewer functions. ValueError for other files."""
    (source,), (target,) = args.input_file, args.output_file
    for path in (source, target):
        if os.path.splitext(path)[1] != ".nnp":
            raise ValueError(f"optimize: {path} is no .nnp file, and no other format is supported")
    graph = graph_def.load(source)
    network = optimize_nnp(graph)
    graph.networks[network.name] = network
    graph.save(target)
    return True


def add_optimize_command(subparsers: Any) -> None:
    """Adds the command ``optimize``."""
    parser = subparsers.add_parser("optimize", help="write a network with fewer functions")
    parser.add_argument("input_file", nargs=1, help=".nnp file to read")
    parser.add_argument("output_file", nargs=1, help=".nnp file to write")
    parser.set_defaults(func=optimization_command)
