"""`python -m compatgrad run`: runs a program with compatgrad's frontends in place of the originals."""

from __future__ import annotations

import sys

from compatgrad.tools.program import UsageError, run

HELP = """\
usage: python -m compatgrad run SCRIPT [ARGUMENT ...]      a script
       python -m compatgrad run -m MODULE [ARGUMENT ...]   a module, as in `python -m`
       python -m compatgrad run -c CODE [ARGUMENT ...]     a piece of code, as in `python -c`
       python -m compatgrad run - [ARGUMENT ...]           a program on standard input

Runs the program with compatgrad's chainer, nnabla and mxnet in place of the originals.

Everything after SCRIPT, MODULE or CODE belongs to the program. Python's own options go before -m:
`python -u -X dev -m compatgrad run train.py --epoch 3`. Processes that the program starts by
multiprocessing get the same imports; processes started by another command need
`-m compatgrad run` in that command.
"""


def main(arguments: list[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(HELP, end="")
        return 0
    try:
        run(arguments)
    except UsageError as error:
        print(f"compatgrad run: {error}; see `python -m compatgrad run --help`", file=sys.stderr)
        return 2
    return 0
