"""`python -m compatgrad compare`: compares two recordings, as `verify` does."""

from __future__ import annotations

import sys
from pathlib import Path

from compatgrad.tools._parser import parser_of
from compatgrad.tools.verify import add_report_options, print_result
from compatgrad.tools.verify.following import compare
from compatgrad.tools.verify.recording import RecordingError, read
from compatgrad.tools.verify.report import Result

_DESCRIPTION = """\
Compares the recordings of two runs of a program: ORIGINAL, made by recorder.pyz on the original framework, and HERE,
made by `python -m compatgrad record`. `python -m compatgrad record --help` shows how to make both.
"""
_EPILOG = """\
exit status: 0 the runs agree, 1 they differ, 2 wrong command line or no recording, 3 only the structure differs
"""


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status."""
    parser = parser_of(
        "compare",
        _DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("original", metavar="ORIGINAL", help="the folder of the original's recording")
    parser.add_argument("here", metavar="HERE", help="the folder of the recording made here")
    add_report_options(parser)
    options = parser.parse_args(arguments)
    try:
        sides = read(Path(options.original)), read(Path(options.here))
        result = Result(*sides, compare(*sides, options.tolerance, options.stop_at == "first"))
    except RecordingError as error:
        print(f"compatgrad compare: {error}", file=sys.stderr)
        return 2
    return print_result(result, options)
