"""`python -m compatgrad run --report`: what ran where, which calls took a slow path and why, and what differs.

`control` starts and ends the report of a process, `collect` counts, `text`, `page` and `files` write the results. None
of them is imported before a report is wanted, because `collect` imports torch.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compatgrad.tools._parser import parser_of

if TYPE_CHECKING:
    from compatgrad.tools.report.collect import Collector

_USAGE = "python -m compatgrad report merge [OPTION ...] FILE ..."
_DESCRIPTION = """\
Prints one report of one or more processes, from the .json files that they wrote. Calls and bytes are added up; of
memory and time the largest value is taken.

`python -m compatgrad run --report=FILE.json train.py` writes such a file. In a program of several processes the
environment variable COMPATGRAD_REPORT='report-{rank}.json' gives a file to each.
"""


class Report:
    """What a program does on compatgrad from the moment when `compatgrad.report()` is called: which functions run where,
    which calls take a slow path and why, and what differs from the original.

    `str` gives the text, at most 25 lines; notebooks show a table. As a context manager it counts inside the block; in a
    program that `run --report` reports anyway, the count goes on after the block.

    Example:
        >>> import numpy as np, compatgrad
        >>> import compatgrad.chainer.functions as F
        >>> with compatgrad.report() as report:
        ...     y = F.relu(np.ones(3, np.float32))
        >>> print(str(report).splitlines()[0])
        compatgrad report: Ran on cpu. All of 1 operator call on fast kernels. None took a slower path. Nothing else to report.
    """  # noqa: E501

    def __init__(self, collector: Collector, own: bool = True) -> None:
        self._collector, self._own = collector, own

    def data(self) -> dict[str, Any]:
        """Everything that was counted, as `--report=FILE.json` writes it."""
        return self._collector.data()

    def save(self, path: str | Path) -> None:
        """Writes a .json, .html or .txt file."""
        from compatgrad.tools.report import control, files

        control.parse_target(str(path))
        files.write(self.data(), files.path_of(str(path)))

    def stop(self) -> None:
        """Ends the count; what was counted stays."""
        self._collector.stop()

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own:
            self.stop()

    def __str__(self) -> str:
        from compatgrad.tools.report.text import text

        return text(self.data())

    def _repr_html_(self) -> str:
        from compatgrad.tools.report.page import body

        return body(self.data())


def report() -> Report:
    """The report of this process: the one that `run --report` has begun, or a new one that begins now."""
    from compatgrad.tools.report import control

    running = control.running()
    return Report(running or control.begin(), own=running is None)


def main(arguments: list[str]) -> int:
    about = "Works on the reports that processes wrote. `python -m compatgrad report merge --help` lists the options."
    parser = parser_of("report", about, usage=_USAGE)
    commands = parser.add_subparsers(dest="command", required=True, metavar="merge FILE ...", title="commands")
    merge = commands.add_parser(
        "merge", help="print one report of one or more processes", usage=_USAGE, description=_DESCRIPTION,
        allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    merge.add_argument("files", nargs="+", metavar="FILE", help="a .json file that `run --report=FILE.json` wrote")
    merge.add_argument(
        "--format", choices=("text", "json", "html"), default="text", help="form of the printed report (text)"
    )
    merge.add_argument(
        "-o", "--output", metavar="FILE", help="write the report to FILE (.json, .html or .txt), and print nothing"
    )
    given = parser.parse_args(arguments)
    from compatgrad.tools.report import control, files

    try:
        if given.output is not None:
            control.parse_target(given.output)
        data = files.merged([files.read(file) for file in given.files])
        if given.output is not None:
            files.write(data, files.path_of(given.output))
        else:
            print(files.FORMATS["txt" if given.format == "text" else given.format](data), end="")
    except (files.FileError, ValueError) as error:
        print(f"compatgrad report: {error}", file=sys.stderr)
        return 2
    return 0
