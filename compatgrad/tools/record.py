"""`python -m compatgrad record`: records what a program computes here, or writes the recorder for another machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from compatgrad import surroundings
from compatgrad._install import install
from compatgrad.tools._parser import parser_of
from compatgrad.tools.compatgrad_recorder.__main__ import add_options, guarded, split, start
from compatgrad.tools.program import UsageError, run
from compatgrad.tools.verify.runs import write_recorder

_DESCRIPTION = """\
Runs the program here, as `run` does, and records what it computes into FOLDER. `verify` does this on both sides. If
the original is on another machine ("there"), use `record` and `compare`; that machine needs NumPy, the original and
Python 3.6 or later. Copy recorder.pyz to it, and the folder of the recording back:

  here   python -m compatgrad record --write-recorder recorder.pyz
  there  python recorder.pyz -o there --steps 5 -- train.py --epoch 1
  here   python -m compatgrad record -o here --steps 5 -- train.py --epoch 1
  here   python -m compatgrad compare there here

Give both recorders the same options. FOLDER gets meta.json, events.jsonl and arrays.bin.
"""


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(
        "record",
        _DESCRIPTION,
        usage="python -m compatgrad record -o FOLDER [OPTION ...] -- train.py ARGUMENT ...\n"
        "       python -m compatgrad record --write-recorder FILE",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-o", "--output", metavar="FOLDER", help="the folder of the recording")
    what.add_argument("--write-recorder", metavar="FILE", help="write the recorder as one file, and run nothing")
    add_options(parser)
    parser.add_argument(
        "--keep", metavar="NUMBERS", help="numbers of events whose arrays are stored whole, such as 3,17-40"
    )
    parser.add_argument("--setup", metavar="FILE", help="a Python file that runs before the program")
    parser.add_argument(
        "--as-of",
        default="auto",
        metavar="YEAR",
        help="the old names that the program finds, as for `run --as-of` (auto)",
    )
    return parser


def main(arguments: list[str]) -> int:
    """Runs the command; the program's exceptions and exit status are passed on."""
    own, program = split(arguments)
    parser = _parser()
    options = parser.parse_args(own)
    if options.write_recorder:
        if program:
            parser.error("--write-recorder runs no program")
        try:
            write_recorder(Path(options.write_recorder))
        except OSError as error:
            print(f"compatgrad record: {error}", file=sys.stderr)
            return 1
        print(f"{options.write_recorder}: written; run it by `python {options.write_recorder} -o FOLDER -- train.py`")
        return 0
    if not program:
        parser.error("name the program after --")
    options.program = program
    try:
        as_of = surroundings.parse(options.as_of)
    except ValueError as error:
        parser.error(str(error).replace("as_of", "--as-of", 1))
    install(as_of=as_of)  # before --setup runs
    try:
        recorder = start(options)
    except OSError as error:
        parser.error(f"--output: {error}")
    try:
        guarded(recorder, lambda: run(program, as_of))
    except UsageError as error:
        parser.error(str(error))
    return 0
