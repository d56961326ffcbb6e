"""The command line, `python -m compatgrad`."""

import importlib
import sys

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
  COMPATGRAD_CUDA_KERNELS=0      do not use compatgrad's CUDA kernels; ATen computes on GPUs
"""


def main() -> int:
    command, *rest = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help"):
        print(_HELP.format(commands="\n".join(f"  {name:31}{what}" for name, what in COMMANDS.items())), end="")
    elif command == "--version":
        print(f"compatgrad {compatgrad.__version__}")
    elif command in COMMANDS:
        return int(importlib.import_module(f"compatgrad.tools.{command}").main(rest))
    else:
        print(f"compatgrad: unknown command {command!r}; see `python -m compatgrad --help`", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
