"""`python -m compatgrad profile`: where the time of training steps goes, and how the original compares."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from compatgrad.tools._parser import parser_of
from compatgrad.tools._words import agreeing, count

_DESCRIPTION = """\
Runs a program on compatgrad and measures its training steps. The program needs no change: a step ends where an
optimizer, a solver, a trainer or a module updates parameters, or, in a program without them, where backward ends.

After the warmup follow three measurements of --steps steps each. The first watches only the ends of steps, and gives
the time of a step; the second times forward, backward, update and data; the third times every function and layer, by
hooks. With --memory, --trace or --html, up to four steps under torch's profiler follow. Then the report is printed, and
the program goes on unless --stop is given.
"""
_EPILOG = """\
Times are those of the host. On a GPU the third measurement waits for each function. The program follows the options, as
`python` would get it: a script, -m MODULE or -c CODE, with arguments. In a program of several processes, {rank} and
{pid} in the names of files give each process its own files, which `profile merge` puts together. The exit status is the
program's, but 1 if no step was found or the original failed, and 2 if the command line is wrong.

examples:
  python -m compatgrad profile -- train.py --epoch 1
  python -m compatgrad profile --by line --stop -- train.py
  python -m compatgrad profile --html profile.html --trace trace.json.gz --stop -- train.py
  python -m compatgrad profile --against ~/venvs/chainer/bin/python --stop -- train.py
  python -m compatgrad profile merge part-*.json      one report of several processes
"""


_FILES = ("trace", "html", "speedscope", "pstats", "output")
SORTS = ("time", "forward", "backward", "calls", "memory", "name")


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return value


def _year(text: str) -> int | str:
    from compatgrad import surroundings

    try:
        return surroundings.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("as_of: ")) from None


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(
        "profile",
        _DESCRIPTION,
        usage="python -m compatgrad profile [OPTION ...] [--] train.py [ARGUMENT ...]",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--steps", type=_count, default=10, metavar="N", help="number of steps of each measurement (10)"
    )
    parser.add_argument(
        "--warmup", type=_count, default=5, metavar="N", help="number of steps before the first measurement (5)"
    )
    _add_report_options(parser)
    parser.add_argument(
        "--memory", action="store_true", help="measure memory, too: allocations, and the peak of a step"
    )
    parser.add_argument("--trace", metavar="FILE", help="write a trace for Perfetto: FILE.json or FILE.json.gz")
    parser.add_argument("--against", metavar="PYTHON", help="also time the original, in its interpreter PYTHON")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: processor time, for a machine with other work (wall)",
    )
    parser.add_argument(
        "--as-of",
        metavar="YEAR",
        type=_year,
        default="auto",
        help="the old names that the program finds, as for `run --as-of` (auto)",
    )
    parser.add_argument("--allow-pickle", action="store_true", help="let np.load unpickle, as for `run --allow-pickle`")
    parser.add_argument("--stop", action="store_true", help="end the program after the last measured step")
    return parser


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    """What the report is like and where it goes."""
    parser.add_argument(
        "--by",
        choices=("op", "layer", "line"),
        default="op",
        help="what a row of the table is: a function, a layer or a line (op)",
    )
    parser.add_argument("--sort", choices=SORTS, default="time", help="order of the rows (time)")
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="number of rows of the table (20)")
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures: time by layer, memory over a step")
    parser.add_argument("--speedscope", metavar="FILE", help="write a profile for https://www.speedscope.app")
    parser.add_argument("--pstats", metavar="FILE", help="write statistics for Python's pstats, of lines and functions")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")
    parser.add_argument("--output", metavar="FILE", help="write the report to FILE, not to standard output")


def _merge(arguments: list[str]) -> int:
    """`profile merge`."""
    from . import merge

    parser = parser_of(
        "profile merge",
        merge.DESCRIPTION,
        usage="python -m compatgrad profile merge [OPTION ...] FILE ...",
    )
    merge.add_files(parser)
    _add_report_options(parser)
    options = parser.parse_args(arguments)
    _check_files(parser, options)
    try:
        report = merge.merged(options.files)
    except merge.MergeError as error:
        parser.error(str(error))
    memory = bool(report["memory"])
    if options.sort == "memory" and not memory:
        parser.error("--sort memory: the files have no memory; `profile --memory` measures it")
    said = _said(options, report, memory)
    if options.output:
        return 0 if write_file("--output", options.output, said + "\n") else 1
    print(said, flush=True)
    return 0


def _said(options: Any, report: dict[str, Any], memory: bool) -> str:
    """The report in its form; the other files that the options name are written."""
    from .export import pstats, speedscope
    from .page import page
    from .report import text

    made = [("--html", page, "page"), ("--speedscope", speedscope, "profile for https://www.speedscope.app")]
    made += [("--pstats", pstats, "profile for pstats")]  # type: ignore[list-item]
    said = []
    for option, make, what in made:
        path = getattr(options, option[2:])
        if path and write_file(option, path, make(report)):
            said.append(f"{what}: {path}")
    if options.format == "json":
        return json.dumps(report, indent=1, sort_keys=True)
    return "\n".join([text(report, options.by, options.sort, options.limit, memory), *said])


def _split(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[list[str], list[str]]:
    """The command's own options, and the program with its arguments: it begins after --, or where no option is."""
    valued = {option for action in parser._actions if action.nargs is None for option in action.option_strings}
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return arguments[:at], arguments[at + 1 :]
        if not word.startswith("-") or word[:2] in ("-m", "-c"):
            return arguments[:at], arguments[at:]
        at += 2 if word in valued else 1
    return arguments, []


def _check_files(parser: argparse.ArgumentParser, options: Any) -> None:
    if getattr(options, "trace", None) and not options.trace.endswith((".json", ".json.gz")):
        parser.error(f"--trace: expected a name that ends with .json or .json.gz, got {options.trace}")
    for name in _FILES:
        path = getattr(options, name, None)
        folder = os.path.dirname(os.path.abspath(path)) if path else ""
        if path and not os.path.isdir(folder):
            parser.error(f"--{name}: there is no folder {folder}")
    if options.sort == "memory" and hasattr(options, "memory") and not (options.memory or options.html):
        parser.error("--sort memory needs --memory")


class _Output:
    """Writes the report, once; on standard output, which is not the program's where the report is JSON."""

    def __init__(self, options: Any, program: Sequence[str], original: dict[str, Any] | None) -> None:
        self.options, self.program, self.original = options, program, original
        self.stream: Any = sys.stdout
        if options.format == "json" and not options.output:
            sys.stdout.flush()
            self.stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
            os.dup2(2, 1)

    def write(self, result: Any) -> None:
        from .report import build

        options = self.options
        said = _said(options, build(result, self.program, self.original), options.memory)
        if options.output:
            write_file("--output", options.output, said + "\n")
        else:
            try:
                print(said, file=self.stream, flush=True)
            except (OSError, ValueError) as error:  # a closed pipe, a full disk, a stream that the program has closed
                print(f"compatgrad profile: the report cannot be printed: {error}", file=sys.stderr)


def write_file(option: str, path: str, content: str | bytes) -> bool:
    """Writes a file; if that fails, says so, because the program goes on."""
    try:
        with open(path, "wb") as file:
            file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    except OSError as error:
        print(f"compatgrad profile: {option}: {error}", file=sys.stderr)
        return False
    return True


def _expand(options: Any) -> None:
    """Replaces {pid} and {rank} in the names of files, so that each process of a program has its own."""
    from compatgrad.tools.report.files import path_of

    for name in _FILES:
        if getattr(options, name):
            setattr(options, name, str(path_of(getattr(options, name))))


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{'compatgrad profile: ' + text if text else ''}", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit status."""
    if list(arguments[:1]) == ["merge"]:
        return _merge(list(arguments[1:]))
    parser = _parser()
    own, program = _split(parser, list(arguments))
    options = parser.parse_args(own)
    if not program:
        parser.error("name the program behind the options, as in `profile --stop train.py`")
    _check_files(parser, options)
    if options.trace or options.html or options.memory:
        # torch reads it when it is imported: its profiler warns of blocks of memory that are older than the recording
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from compatgrad._install import install_with
    from compatgrad.tools.compatgrad_recorder._steps import choose_clock
    from compatgrad.tools.program import UsageError, run

    _expand(options)
    choose_clock(options.clock)
    from .against import OriginalFailed, time_original
    from .session import Session

    original = None
    if options.against:
        _progress(f"timing the original in {options.against}")
        try:
            original = time_original(options.against, program, options.steps, options.warmup, options.clock)
        except OriginalFailed as error:
            _progress("")
            print(f"compatgrad profile: {error}", file=sys.stderr)
            return 1
        _progress("")
    output = _Output(options, program, original)
    memory = options.memory or bool(options.html)
    session = Session(options.steps, options.warmup, options.trace or "", memory, _progress)

    def install() -> None:
        install_with((), options.as_of, "--as-of off", allow_pickle=options.allow_pickle)

    return _run(
        session, output, install, lambda: run(program, options.as_of, options.allow_pickle), options.stop, UsageError
    )


def profile_call(arguments: Sequence[str], body: Callable[[], None], shown: Callable[[str, str], Any]) -> Any:
    """Profiles a call in this process, for notebooks: the options of the command line, without a program. Returns what
    `shown` makes of the report's text and page; None if no step was measured."""
    parser = _parser()
    parser.usage = "%%compatgrad_profile [OPTION ...]"
    options = parser.parse_args(list(arguments))
    for name in ("against", "output", "speedscope", "pstats"):
        if getattr(options, name):
            parser.error(f"--{name} is for programs, not for cells")
    _check_files(parser, options)
    from compatgrad.tools.compatgrad_recorder._steps import Finished, choose_clock

    _expand(options)
    choose_clock(options.clock)
    from .page import page
    from .report import build, text
    from .session import Session

    session = Session(options.steps, options.warmup, options.trace or "", options.memory or bool(options.html), None)
    session.steps.stop = options.stop
    session.start()
    try:
        body()
    except Finished:
        pass
    finally:
        session.finish()
    if not session.result.times:
        print(_too_few(session), file=sys.stderr)
        return None
    report = build(session.result, ["this cell"], None)
    if options.html:
        write_file("--html", options.html, page(report))
    if options.format == "json":
        return report
    said = text(report, options.by, options.sort, options.limit, options.memory)
    return shown(said, page(report))


def _run(session: Any, output: _Output, install: Any, body: Any, stop: bool, usage_error: type[Exception]) -> int:
    from compatgrad.tools.compatgrad_recorder._steps import Finished

    session.steps.stop = stop
    session.done = lambda: output.write(session.result) if session.result.times else None
    session.start(install)
    try:
        body()
    except Finished:
        return 0
    except usage_error as error:
        print(f"compatgrad profile: {error}; see `python -m compatgrad profile --help`", file=sys.stderr)
        session.done = None
        return 2
    finally:
        session.finish()
    if session.result.times:
        return 0
    print(_too_few(session), file=sys.stderr)
    return 1


def _too_few(session: Any) -> str:
    number, warmup = session.result.seen, session.steps.stages[0][1]
    seen = f"{count(number, 'step')} {agreeing(number, 'was', 'were')} seen" if number else "no step was seen"
    return (
        f"compatgrad profile: {seen}, but measurements begin after {count(warmup, 'step')} of warmup (--warmup). "
        "A step ends where an optimizer, a solver, a trainer or a module updates parameters; in a program without "
        "them, where backward ends"
    )
