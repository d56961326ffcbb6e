"""``nnabla_cli``: also ``python -m nnabla`` and ``python -m nnabla.utils.cli.cli``."""

from __future__ import annotations

import argparse
import sys
import traceback
from typing import Any

if not __package__:  # the file runs as a script, as in programs that call `python cli.__file__`
    sys.path.pop(0)  # this folder, whose `profile` would hide Python's own

from compatgrad.nnabla._version import __build_number__, __version__
from compatgrad.nnabla.utils import callback
from compatgrad.nnabla.utils.cli import (
    compare_with_cpu,
    conv_dataset,
    convert,
    draw_graph,
    encode_decode_param,
    forward,
    func_info,
    optimize_model,
    plot,
    profile,
    train,
)
from compatgrad.nnabla.utils.cli._steps import command

__all__ = ["main"]


def _version() -> str:
    more = callback.get_callback_version()
    return f"Version:{__version__}, Build:{__build_number__}" + ("" if more is None else f", Callback:{more}")


@command
def version_command(args: Any) -> bool:
    """Prints the version.

    Example:
        >>> from compatgrad.nnabla.utils.cli.cli import version_command
        >>> version_command(None)
        Version:1.39.0, Build:compatgrad
        True
    """
    print(_version())
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nnabla_cli", description=f"Command line interface for NNabla({_version()})")
    parser.add_argument("-m", "--mpi", action="store_true", help="run as one of several processes (mpirun, torchrun)")
    commands = parser.add_subparsers()
    train.add_train_command(commands)
    forward.add_infer_command(commands)
    forward.add_forward_command(commands)
    encode_decode_param.add_encode_param_command(commands)
    encode_decode_param.add_decode_param_command(commands)
    profile.add_profile_command(commands)
    conv_dataset.add_conv_dataset_command(commands)
    compare_with_cpu.add_compare_with_cpu_command(commands)
    convert.add_convert_command(commands)
    func_info.add_function_info_command(commands)
    optimize_model.add_optimize_command(commands)
    plot.add_plot_series_command(commands)
    plot.add_plot_timer_command(commands)
    draw_graph.add_draw_graph_command(commands)
    version = commands.add_parser("version", help="print version and build number")
    version.set_defaults(func=version_command)
    return parser


def main() -> None:
    """Runs the command of the command line. Where the command fails, it ends the program with a status other than 0.

    Example:
        nnabla_cli train -c net.nntxt -o results

    Source: `nnabla.utils.cli.cli.main` of nnabla 1.39.0.
    """
    parser = _parser()
    print(f"NNabla command line interface ({_version()})")
    args = parser.parse_args()
    if callback.alternative_cli(args) is not None:
        return
    if "func" not in args:
        parser.print_help(sys.stderr)
        sys.exit(-1)
    if args.mpi:
        from compatgrad.nnabla.utils.communicator_util import create_communicator

        create_communicator()
    try:
        done = args.func(args)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        done = False
    if not done:
        sys.exit(-1)


if __name__ == "__main__":
    main()
