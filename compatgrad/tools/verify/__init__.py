"""`python -m compatgrad verify`: runs a program on the original and here, and says where the two first differ."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from compatgrad import surroundings
from compatgrad.tools._folders import temporary
from compatgrad.tools._parser import parser_of
from compatgrad.tools.compatgrad_recorder.__main__ import add_options, split
from compatgrad.tools.verify import details, report, runs
from compatgrad.tools.verify.differences import crossed, lost
from compatgrad.tools.verify.findings import Finding
from compatgrad.tools.verify.following import compare
from compatgrad.tools.verify.recording import Recording, RecordingError, read

ORIGINAL_FAILED = 4

_DESCRIPTION = """\
Runs the program on the original framework, in its own interpreter, and here, on compatgrad, and compares the two runs:
initial weights and data, every function forward, gradients backward, parameters after each update. Says where the first
value is that rounding does not explain, whether the inputs of that function agreed, and which line of the program
called it. If there is such a value, a second, shorter run on each side stores the arrays at this place, and verify
writes a script that reproduces the difference.

The program should be short: three to five updates show most differences. Its arguments and the random seeds are the
same in all runs.
"""
_EPILOG = """\
ORIGINAL is the Python that has the original framework and NumPy; compatgrad need not be installed there. It may be a
command with arguments that runs a Python file.

exit status: 0 the runs agree, 1 they differ, 2 wrong command line, 3 only the structure differs (a parameter, an update
or many functions are on one side only), 4 the original's run failed.

examples:
  python -m compatgrad verify --original ~/chainer/bin/python --steps 5 -- train.py --epoch 1
  python -m compatgrad verify --original ~/nnabla/bin/python --layers '/conv*' -o result -- train.py
  python -m compatgrad record -o here -- train.py        on two machines: see `python -m compatgrad record --help`
"""


def add_report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json", "html"), default="text", help="form of the report (text)")
    parser.add_argument(
        "--tolerance", type=_positive, default=1.0, metavar="X", help="multiply all tolerances by X (1)"
    )
    parser.add_argument(
        "--stop-at",
        choices=("first", "never"),
        default="first",
        help="first: report only the first jump of the error; never: up to 20 jumps (first)",
    )


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return value


def _parser() -> argparse.ArgumentParser:
    usage = "python -m compatgrad verify --original ORIGINAL [OPTION ...] -- train.py ARGUMENT ..."
    parser = parser_of("verify", _DESCRIPTION, usage=usage, epilog=_EPILOG)
    parser.add_argument(
        "--original",
        required=True,
        metavar="ORIGINAL",
        help="the Python that has the original framework, or a command (see below)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="the folder for recordings and reproducers (a temporary folder, of which only reproducers stay)",
    )
    add_options(parser)
    add_report_options(parser)
    parser.add_argument(
        "--as-of", metavar="YEAR", help="the old names that the program finds here, as for `run --as-of` (auto)"
    )
    parser.add_argument("--here-setup", metavar="FILE", help="a Python file that runs before the program, only here")
    parser.add_argument(
        "--once", action="store_true", help="no second run: the report has no exact error, and there is no reproducer"
    )
    return parser


def recorder_options(options: argparse.Namespace) -> list[str]:
    """The options for the recorder."""
    found = ["--seed", str(options.seed), "--record", options.record, "--every", str(options.every)]
    found += ["--sync", options.sync]
    found += ["--steps", str(options.steps)] if options.steps else []
    return [*found, "--layers", options.layers] if options.layers else found


class _Session:
    """The runs of one `verify`."""

    def __init__(self, options: argparse.Namespace, program: list[str], command: list[str], folder: Path) -> None:
        self.options, self.program, self.command, self.folder = options, program, command, folder
        self.recorder = folder / "recorder.pyz"
        runs.write_recorder(self.recorder)
        self.setup = ["--setup", options.here_setup] if options.here_setup else []
        self.setup += ["--as-of", options.as_of] if options.as_of else []

    def run(self, side: str, suffix: str = "", more: list[str] | None = None) -> runs.Run:
        command = self.command if side == "original" else runs.HERE
        given = recorder_options(self.options) + (more or []) + (self.setup if side == "here" else [])
        return runs.run(side, command, self.recorder, self.folder / (side + suffix), given, self.program)

    def verify(self) -> tuple[report.Result | None, str]:
        """The result; or None, and why there is none."""
        first = self.run("original")
        try:
            original = read(first.folder)
        except RecordingError as error:
            return None, f"the original's run failed (exit status {first.status}): {error}\n{first.tail()}"
        if not original.events:
            how = "failed before it computed anything" if first.status else "used no framework"
            return None, f"the original's run {how} (exit status {first.status})\n{first.tail()}"
        second = self.run("here")
        try:
            here = read(second.folder)
        except RecordingError as error:
            raise RecordingError(
                f"the run here failed (exit status {second.status}): {error}\n{second.tail()}"
            ) from None
        if first.status and not second.status:
            return None, f"the original's run failed (exit status {first.status})\n{first.tail()}"
        comparison = compare(
            original, here, self.options.tolerance, self.options.stop_at == "first", not self.options.once
        )
        result = report.Result(original, here, comparison)
        if (comparison.findings or comparison.doubtful) and not self.options.once:
            self.look_again(result)
        if result.ended and second.status:
            comparison.notes.append(f"the end of the output here:\n{second.tail()}")
        return result, ""

    def look_again(self, result: report.Result) -> None:
        """Runs both sides again up to the divergence, and stores the arrays there."""
        comparison = result.comparison
        chosen = [*comparison.doubtful[:50], *comparison.findings[:1]]
        again = []
        for side in ("original", "here"):
            numbers = ",".join(map(str, sorted(set().union(*(details.wanted(f, side) for f in chosen)))))
            run = self.run(side, "_again", ["--keep", numbers, "--steps", str(max(f.step for f in chosen))])
            try:
                again.append(read(run.folder))
            except RecordingError:
                return
        for finding in chosen:
            both = details.values(finding, again[0], again[1])
            if both is None:
                note = "the second run went another way than the first: the program is not repeatable"
                comparison.notes.append(note)
                return
            if finding in comparison.doubtful and explained(finding, again, both):
                continue
            if finding in comparison.doubtful:
                comparison.findings.insert(0, finding)
            result.exact = details.relative(*both)
            if result.exact is not None and result.exact <= finding.allowed and not finding.why:
                result.exact = None
                comparison.notes.append(
                    "in the second run these arrays agree: what the program computes differs from run to run, as where "
                    "threads or worker processes draw random numbers"
                )
                return
            result.text_of_arrays = details.not_close(*both, finding.allowed)
            frontend = next(iter(result.original.meta["frameworks"]), "chainer")
            setup = self.options.here_setup
            result.reproducer = details.reproducer(finding, again[0], again[1], self.folder, frontend, setup)
            return
        comparison.crossed, comparison.doubtful = len(comparison.doubtful), []


def explained(finding: Finding, again: list[Recording], both: tuple[Any, Any]) -> bool:
    """Whether single elements explain a doubtful difference, or gradients that are lost in rounding."""
    if finding.gradient is None:
        return crossed(*both, finding.allowed, finding.share)
    gradients = [side.whole(side.events[e["j"]]["o"][0]) for side, e in zip(again, finding.gradient, strict=True)]
    if gradients[0] is None or gradients[1] is None:
        return False
    return lost(*both, gradients[0], gradients[1])


def print_result(result: report.Result, options: argparse.Namespace) -> int:
    colored = options.format == "text" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print(report.text(result, True) if colored else report.shown(result, options.format))
    return result.status


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status."""
    own, program = split(arguments)
    parser = _parser()
    options = parser.parse_args(own)
    if not program:
        parser.error("name the program after --, as in `-- train.py --epoch 1`")
    try:
        command = runs.command_of(options.original)
        if options.as_of:
            surroundings.parse(options.as_of)
        if options.here_setup and not Path(options.here_setup).is_file():
            raise ValueError(f"--here-setup: there is no file {options.here_setup!r}")
        _check(program)
        if options.output:
            Path(options.output).mkdir(parents=True, exist_ok=True)
    except ValueError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"--output: {error}")
    if options.output:
        return _status(_Session(options, program, command, Path(options.output).absolute()), options)
    with temporary("compatgrad-verify-", _keep_reproducer) as folder:
        return _status(_Session(options, program, command, folder), options)


def _keep_reproducer(folder: Path) -> None:
    """Removes the recordings, which may be large."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith(details.REPRODUCER):
            path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _check(program: list[str]) -> None:
    """Raises ValueError for a command line that no run could follow."""
    if program[0] in ("-m", "-c"):
        if len(program) < 2:
            raise ValueError(f"{program[0]} needs an argument")
    elif program[0] == "-":
        raise ValueError("a program from standard input cannot run twice: write it to a file")
    elif not Path(program[0]).exists():
        raise ValueError(f"there is no program {program[0]!r}")


def _status(session: _Session, options: Any) -> int:
    try:
        result, why = session.verify()
    except RecordingError as error:
        print(f"compatgrad verify: {error}", file=sys.stderr)
        return report.DIVERGED
    if result is None:
        print(f"compatgrad verify: {why}", file=sys.stderr)
        return ORIGINAL_FAILED
    return print_result(result, options)
