"""The command line, `python -m compatgrad`."""

import importlib
import os
import sys
from collections.abc import Callable

import compatgrad

# command -> what it does, in one line; `compatgrad.tools` has a module of each name
COMMANDS = {
    "run": "run a program with compatgrad's chainer, nnabla and mxnet",
    "launch": "run a program in several processes that communicate",
    "report": "print one report of several processes, from the files that `run --report=FILE.json` wrote",
    "verify": "run a program here and on the original, and compare both runs function by function",
    "record": "record what a program computes, to compare it with a recording from another machine",
    "compare": "compare two recordings, as `verify` does",
    "scan": "list which names of an original programs use, and which of them compatgrad has",
    "convert": "convert parameter files to safetensors or a torch state dict, and back",
    "info": "print versions, folders and settings",
    "profile": "time training steps by function, layer or line, and compare them with the original's",
    "test": "check this installation; with --format json, print what a bug report needs",
}
_RUN_PROGRAMS = ("run", "launch", "record", "profile")  # the streams are the program's
_HELP = """\
usage: python -m compatgrad COMMAND ...

Runs programs written for Chainer, nnabla or MXNet on PyTorch.

commands:
{commands}

`python -m compatgrad COMMAND --help` describes a command.

options:
  -h, --help                     print this and exit
  --version                      print the version and exit

environment:
  COMPATGRAD_CACHE               folder for modules compiled at first import (~/.cache/compatgrad)
  COMPATGRAD_NO_COMPILE=1        never compile at import, raise ImportError instead
  CXX, CXXFLAGS                  the C++ compiler and additional flags
  CUDACXX, CUDAFLAGS             nvcc and additional flags for CUDA kernels
  COMPATGRAD_REPORT              1 or a file's name: report what ran where, as `run --report` does
  COMPATGRAD_STRICT              what raises an error, as for `run --strict`
  COMPATGRAD_TIMEOUT             seconds that a process waits for another (`launch --help`)
  COMPATGRAD_KEEP_MEMORY=0       do not keep memory of freed CPU tensors for the next ones
  COMPATGRAD_PLANS=0             run hybridized Gluon blocks operator by operator in inference, too
  COMPATGRAD_CUDA_KERNELS=0      do not use compatgrad's CUDA kernels; ATen computes on GPUs
"""


def _printed(body: Callable[[], int | None]) -> int:
    """The status of a command that only prints; if its output is closed, as by `| head`, it ends without traceback."""
    try:
        status = int(body() or 0)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left at exit
        return 1
    return status


def main() -> int:
    command, *rest = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help"):
        return _printed(lambda: print(_HELP.format(commands=_commands()), end=""))
    if command == "--version":
        return _printed(lambda: print(f"compatgrad {compatgrad.__version__}"))
    if command not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(command, COMMANDS, 1)
        advice = f" (did you mean {near[0]}?)" if near else ""
        print(f"compatgrad: unknown command {command!r}{advice}; see `python -m compatgrad --help`", file=sys.stderr)
        return 2
    module = importlib.import_module(f"compatgrad.tools.{command}")
    return int(module.main(rest)) if command in _RUN_PROGRAMS else _printed(lambda: module.main(rest))


def _commands() -> str:
    return "\n".join(f"  {name:31}{what}" for name, what in COMMANDS.items())


if __name__ == "__main__":
    sys.exit(main())
