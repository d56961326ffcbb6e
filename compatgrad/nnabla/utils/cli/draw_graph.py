"""``draw_graph``: draws the networks in a file."""

from __future__ import annotations

import os
from typing import Any

from ... import functions as F
from ...logger import logger
from .. import nnp_graph
from ._steps import adds, command

__all__ = ["add_draw_graph_command"]


@command
def draw_graph_command(args: Any) -> bool:
    """Draws the networks of a file with Graphviz: all of them, or those that are named.

    Raises:
        ValueError: the file is broken, or does not have a network with a given name.

    Example:
        nnabla_cli draw_graph -n net -o pictures net.nnp
    """
    from ...experimental.viewers import SimpleGraph

    loader = nnp_graph.NnpLoader(args.input)
    names = loader.get_network_names()
    for name in args.network or ():
        if name not in names:
            raise ValueError(f"{args.input} has no network {name!r}; it has {', '.join(names)}")
    os.makedirs(args.output_dir, exist_ok=True)
    for name in args.network or names:
        outputs = list(loader.get_network(name).outputs.values())
        if not outputs:
            logger.info("Network %s has no output: it is not drawn.", name)
            continue
        output = outputs[0] if len(outputs) == 1 else F.sink(*outputs)
        path = os.path.join(args.output_dir, name.replace(" ", "_"))
        SimpleGraph(format=args.format).save(output, path, cleanup=True)
    return True


@adds("draw_graph net.nnp", "draw_graph_command", output_dir="draw_out")
def add_draw_graph_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("draw_graph", help="draw the networks of a file with Graphviz")
    parser.add_argument("input", help=".nnp or .nntxt file")
    parser.add_argument("-o", "--output-dir", default="draw_out", help="folder for the pictures")
    parser.add_argument("-n", "--network", action="append", help="name of a network to draw; by default all")
    parser.add_argument("-f", "--format", default="png", help="format of the pictures (pdf, png, ...)")
    parser.set_defaults(func=draw_graph_command)
