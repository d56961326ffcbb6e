"""The command line, `python -m compatgrad`."""

import sys

import compatgrad

_HELP = """\
usage: python -m compatgrad COMMAND ...

Runs programs written for Chainer, nnabla or MXNet on PyTorch.

commands:
  run SCRIPT [ARGUMENT ...]      run a script with compatgrad's chainer, nnabla and mxnet
  run -m MODULE [ARGUMENT ...]   the same for a module, as in `python -m`
  run -c CODE [ARGUMENT ...]     the same for a piece of code, as in `python -c`
  run - [ARGUMENT ...]           the same for a program on standard input
  convert IN OUT                 write a parameter file of Chainer, nnabla or MXNet as safetensors or
                                 a torch state dict; see `convert --help`
  info                           print what a bug report needs

options:
  -h, --help                     print this and exit
  --version                      print the version and exit

Everything after SCRIPT, MODULE or CODE belongs to the program. Python's own options go before -m:
`python -u -X dev -m compatgrad run train.py --epoch 3`. Processes that the program starts by
multiprocessing get the same imports; processes started by another command need
`-m compatgrad run` in that command.

environment:
  COMPATGRAD_CACHE               folder for modules compiled at first import (~/.cache/compatgrad)
  COMPATGRAD_NO_COMPILE=1        never compile at import, raise ImportError instead
  CXX, CXXFLAGS                  the C++ compiler and additional flags
  CUDACXX, CUDAFLAGS             nvcc and additional flags for CUDA kernels
  COMPATGRAD_CUDA_KERNELS=0      do not use compatgrad's CUDA kernels; ATen computes on GPUs
"""


def _usage_error(text: str) -> int:
    print(f"compatgrad: {text}; see `python -m compatgrad --help`", file=sys.stderr)
    return 2


def main() -> int:
    arguments = sys.argv[1:]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if command in ("-h", "--help") or (command in ("run", "info") and rest in (["-h"], ["--help"])):
        print(_HELP, end="")
    elif command == "--version":
        print(f"compatgrad {compatgrad.__version__}")
    elif command == "info" and not rest:
        from compatgrad._info import report

        print(report())
    elif command == "info":
        return _usage_error(f"info takes no arguments, got {rest[0]!r}")
    elif command == "convert":
        from compatgrad.interop._convert import main as convert

        return convert(rest)
    elif command == "run":
        from compatgrad._run import UsageError, run

        try:
            run(rest)
        except UsageError as error:
            return _usage_error(str(error))
    else:
        return _usage_error(f"unknown command {command!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
