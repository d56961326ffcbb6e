"""The command line of the recorder; see the package's docstring."""

import argparse
import os
import random
import runpy
import sys
from typing import Any

import numpy as np

from ._calls import Imports, run_program
from ._chainer import watch_chainer
from ._mxnet import watch_mxnet
from ._nnabla import watch_nnabla
from ._recorder import Recorder

WATCHERS = {"chainer": watch_chainer, "nnabla": watch_nnabla, "mxnet": watch_mxnet}


def add_options(parser: Any) -> None:
    """The options that say what is recorded, which `verify` has, too."""
    parser.add_argument("--steps", type=positive, metavar="N", help="stop the program after N updates")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of NumPy, random and the framework (0)")
    parser.add_argument(
        "--record",
        choices=("statistics", "all"),
        default="statistics",
        help="what is stored of each array: statistics, or all its elements (statistics)",
    )
    parser.add_argument(
        "--layers", metavar="PATTERN", help="record only functions below these layers, such as /*/conv1*"
    )
    parser.add_argument(
        "--every", type=positive, default=1, metavar="K", help="record only the steps 1, K+1, 2K+1, ... (K is 1)"
    )
    parser.add_argument(
        "--sync",
        choices=("random", "off"),
        default="random",
        help="random: MXNet's random numbers come from NumPy; off: from MXNet's own generators (random)",
    )


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("expected a positive number, got %s" % text)
    return value


def seed_workers(seed: int) -> None:
    """Seeds `random` in forked processes, by their number: Python gives each other numbers in every run. NumPy's
    generator continues as in the parent."""
    if not hasattr(os, "register_at_fork"):  # Python 3.6, which does not seed `random` after a fork
        return
    count = [0]

    def before() -> None:
        count[0] += 1

    os.register_at_fork(before=before, after_in_child=lambda: random.seed(seed + 1000003 * count[0]))


def start(options: Any) -> Recorder:
    """Begins to record, in this process."""
    recorder = Recorder(options)
    # MXNet's threaded engine would wake a thread for each array that is read; NaiveEngine computes at once.
    os.environ.setdefault("MXNET_ENGINE_TYPE", "NaiveEngine")
    random.seed(options.seed)
    np.random.seed(options.seed)
    seed_workers(options.seed)

    def imported(name: str, module: Any) -> None:
        recorder.frameworks[name] = str(getattr(module, "__version__", ""))
        WATCHERS[name](recorder, module)

    sys.meta_path.insert(0, Imports(WATCHERS, imported))
    if options.setup:
        runpy.run_path(options.setup)
    return recorder


def guarded(recorder: Recorder, body: Any) -> None:
    """Runs the program, and completes the recording however it ends."""
    try:
        body()
    except SystemExit as e:
        if e.code not in (None, 0) and recorder.on:
            recorder.ended = "exit %s" % e.code
        raise
    except BaseException as e:
        recorder.ended = "%s: %s" % (type(e).__name__, e)
        raise
    finally:
        recorder.close()


def split(arguments: Any) -> Any:
    """The options, and the program with its arguments, which follow `--`."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def parser(prog: str) -> Any:
    found = argparse.ArgumentParser(prog=prog, usage=prog + " -o FOLDER [OPTION ...] -- train.py ARGUMENT ...")
    found.add_argument("-o", "--output", metavar="FOLDER", required=True, help="the folder of the recording")
    add_options(found)
    found.add_argument(
        "--keep", metavar="NUMBERS", help="numbers of events whose arrays are stored whole, such as 3,17-40"
    )
    found.add_argument("--setup", metavar="FILE", help="a Python file that runs before the program")
    return found


def main() -> None:
    arguments, program = split(sys.argv[1:])
    command = parser("python recorder.pyz")
    options = command.parse_args(arguments)
    if not program:
        command.error("name the program after --")
    options.program = program
    guarded(start(options), lambda: run_program(program))


if __name__ == "__main__":
    main()
