"""The command line of the recorder; see the package's docstring."""

import argparse
import importlib.util
import os
import random
import runpy
import sys
from typing import Any

import numpy as np

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
        "--record", choices=("statistics", "all"), default="statistics", help="what is stored of each array"
    )
    parser.add_argument("--layers", metavar="PATTERN", help="record only functions below these layers, as /*/conv1*")
    parser.add_argument("--every", type=positive, default=1, metavar="K", help="record the steps 1, K+1, 2K+1, ...")
    parser.add_argument(
        "--sync",
        choices=("random", "off"),
        default="random",
        help="random: MXNet's random numbers come from NumPy; off: from MXNet's own generators",
    )


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("expected a positive number, got %s" % text)
    return value


class Finder:
    """Calls a watcher when the framework has been imported."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.left = set(WATCHERS)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.left:
            return None
        self.left.remove(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            self.left.add(name)
            return None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            self.recorder.frameworks[name] = str(getattr(module, "__version__", ""))
            WATCHERS[name](self.recorder, module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def seed_workers(seed: int) -> None:
    """Seeds `random` in forked processes, by their number: Python gives each other numbers in every run. NumPy's
    generator continues as in the parent."""
    if not hasattr(os, "register_at_fork"):  # Python 3.6, which does not do that
        return
    count = [0]

    def before() -> None:
        count[0] += 1

    os.register_at_fork(before=before, after_in_child=lambda: random.seed(seed + 1000003 * count[0]))


def start(options: Any) -> Recorder:
    """Begins to record, in this process."""
    recorder = Recorder(options)
    random.seed(options.seed)
    np.random.seed(options.seed)
    seed_workers(options.seed)
    sys.meta_path.insert(0, Finder(recorder))
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


def run(program: Any) -> None:
    """Runs a program as `python` would."""
    if program[0] == "-m":
        sys.argv[:] = program[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        return
    if program[0] == "-c":
        sys.argv[:] = ["-c"] + program[2:]
        sys.path.insert(0, "")
        exec(compile(program[1], "<string>", "exec"), sys.modules["__main__"].__dict__)
        return
    sys.argv[:] = program
    sys.path.insert(0, os.path.dirname(os.path.realpath(program[0])))
    runpy.run_path(program[0], run_name="__main__")


def parser(prog: str) -> Any:
    found = argparse.ArgumentParser(prog=prog, usage=prog + " -o FOLDER [OPTION ...] -- train.py ARGUMENT ...")
    found.add_argument("-o", "--output", metavar="FOLDER", required=True, help="the folder of the recording")
    add_options(found)
    found.add_argument("--keep", metavar="NUMBERS", help="events whose arrays are stored whole, as 3,17-40")
    found.add_argument("--setup", metavar="FILE", help="a Python file that runs before the program")
    return found


def main() -> None:
    arguments, program = split(sys.argv[1:])
    command = parser("python recorder.pyz")
    options = command.parse_args(arguments)
    if not program:
        command.error("name the program after --")
    options.program = program
    guarded(start(options), lambda: run(program))


if __name__ == "__main__":
    main()
