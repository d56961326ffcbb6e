"""The command line of `scan`."""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from compatgrad.names.table import FRONTENDS, ORIGINALS
from compatgrad.tools._parser import parser_of
from compatgrad.tools.scan import models, outputs, packages, sources
from compatgrad.tools.scan.analysis import Analysis
from compatgrad.tools.scan.findings import LEVELS, FileResult, Finding
from compatgrad.tools.scan.judge import Judge
from compatgrad.tools.scan.program import Program, known
from compatgrad.tools.scan.values import Value

_DESCRIPTION = """\
Says which names of Chainer, nnabla and MXNet the programs in PATH use, and which of them compatgrad has. No program is
imported or run. PATH is a folder, a .py file, a notebook or a stored network (-symbol.json, .nnp, .nntxt).

statuses of a use:
  same      compatgrad has the name, and takes the arguments of the call
  differs   as same, but docs/deviations.md names a case in which compatgrad does something else
  partial   compatgrad refuses an argument that the original takes
  missing   the original has the name, compatgrad does not
  unknown   neither the original's API nor compatgrad has the name or argument
  outside   CUDA source, C libraries: code that neither the original nor compatgrad runs

The text also lists the other packages and modules that the programs import and that are not here.
"""
_EPILOG = """\
Methods of objects whose class was guessed are counted apart, and so are names that only a run could resolve.

examples:
  python -m compatgrad scan .
  python -m compatgrad scan src notebooks --exclude 'tests/*' --show all
  python -m compatgrad scan . --format sarif --output scan.sarif
  python -m compatgrad scan . --write-baseline scan.json     accept what there is now,
  python -m compatgrad scan . --baseline scan.json           and fail only for what is new

exit status: 0 nothing found at the level of --fail-on, 1 something found, 2 wrong command line
"""


def _parser() -> argparse.ArgumentParser:
    usage = "python -m compatgrad scan [OPTION ...] PATH ..."
    parser = parser_of("scan", _DESCRIPTION, usage=usage, epilog=_EPILOG)
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="folders, programs, notebooks, networks")
    parser.add_argument(
        "--framework",
        choices=[*ORIGINALS, "auto"],
        default="auto",
        help="count only uses of this original (auto: of all)",
    )
    parser.add_argument(
        "--exclude",
        metavar="GLOB",
        action="append",
        default=[],
        help="leave out files of this name or path; may be repeated",
    )
    parser.add_argument(
        "--fail-on",
        choices=[*reversed(LEVELS), "never"],
        default="error",
        help="the level of a finding from which the exit status is 1 (error)",
    )
    parser.add_argument(
        "--format", choices=["text", "json", "sarif", "github"], default="text", help="form of the report (text)"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the report to FILE")
    parser.add_argument(
        "--show",
        choices=list(outputs.SHOWN),
        default="problems",
        help="which findings the text lists: errors and warnings (problems, the default), only what is missing or "
        "refused (unsupported), only unknown names, or all",
    )
    baseline = parser.add_mutually_exclusive_group()
    baseline.add_argument("--baseline", metavar="FILE", type=Path, help="leave out the findings that FILE lists")
    baseline.add_argument(
        "--write-baseline", metavar="FILE", type=Path, help="write the findings to FILE, and end with exit status 0"
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=0, help="number of processes (one for each 200 files)")
    return parser


def scan_file(path: Path, shown: str, frontends: frozenset[str]) -> FileResult:
    """Scans one file."""
    if path.suffix in models.SUFFIXES:
        return models.scan_model(path, shown, frontends)
    found = FileResult(shown)
    parts, problems = sources.read(path)
    found.lines = sum(len(part.lines) for part in parts)
    judge = Judge(found, frontends)
    program = Program(path, functools.partial(_names_of, frontends))
    try:
        Analysis(found, judge, program).run([(p.tree, p.cell) for p in parts], [p.lines for p in parts])
    except RecursionError:
        problems.append(sources.Problem("CG311", 1, 1, "nested too deeply to be scanned to its end"))
    for code, line, column, message, cell in problems:
        found.findings.append(
            Finding(code, "unknown", "", line, column, line, column, message, cell=cell, file=shown, source=message)
        )
    found.findings.sort(key=lambda f: (f.cell or 0, f.line, f.column, f.code))
    return found


_modules: dict[tuple[Path, frozenset[str]], dict[str, Value]] = {}


def _names_of(frontends: frozenset[str], path: Path) -> dict[str, Value]:
    """What the names of a module of the program mean; nothing is known of a module that imports itself."""
    names = _modules.get((path, frontends))
    if names is None:
        names = _modules[path, frontends] = {}
        parts, _ = sources.read(path)
        found = FileResult(str(path))
        program = Program(path, functools.partial(_names_of, frontends))
        analysis = Analysis(found, Judge(found, frontends), program)
        try:
            analysis.top([(p.tree, p.cell) for p in parts], [p.lines for p in parts])
        except RecursionError:
            return names
        names.update(known(analysis.module.names))
    return names


def _scan(task: tuple[Path, str, frozenset[str]]) -> FileResult:
    return scan_file(*task)


def scan(
    paths: Sequence[Path], exclude: Sequence[str] = (), framework: str = "auto", jobs: int = 0
) -> list[FileResult]:
    """Scans the programs below the paths; a result for each file."""
    frontends = frozenset(FRONTENDS.values()) if framework == "auto" else frozenset([framework])
    tasks = [(path, shown, frontends) for path, shown in sources.files(list(paths), list(exclude))]
    jobs = min(jobs or min(os.cpu_count() or 1, len(tasks) // 200), len(tasks))
    if jobs <= 1:
        results = list(_progress(map(_scan, tasks), len(tasks)))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            results = list(_progress(pool.map(_scan, tasks, chunksize=8), len(tasks)))
    own = packages.own_names(list(paths), [path for path, _, _ in tasks])
    for result in results:
        result.findings = [f for f in result.findings if f.code != packages.CODE or f.name not in own]
    return results


def _progress(results: Iterable[FileResult], total: int) -> Iterable[FileResult]:
    """Passes the results on; on a terminal, a line shows the progress after two seconds."""
    start = last = time.monotonic()
    shown = False
    for number, found in enumerate(results, 1):
        yield found
        now = time.monotonic()
        if sys.stderr.isatty() and now - start > 2 and now - last > 0.2:
            print(f"\rscanned {number} of {total} files", end="", file=sys.stderr, flush=True)
            last, shown = now, True
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for path in options.paths:
        if not path.exists():
            parser.error(f"there is no file or folder {path}")
    if options.jobs < 0:
        parser.error(f"--jobs: expected a number of processes, got {options.jobs}")
    try:
        known = _read_baseline(options.baseline) if options.baseline else set()
    except (OSError, ValueError) as error:
        parser.error(f"--baseline: {error}")
    results = scan(options.paths, options.exclude, options.framework, options.jobs)
    if not results:
        parser.error(f"no Python programs or notebooks in {', '.join(map(str, options.paths))}")
    every = [finding for result in results for finding in result.findings]
    findings = [finding for finding in every if finding.fingerprint() not in known]
    if options.format == "text":
        colour = options.output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        report = outputs.text(results, findings, len(every) - len(findings), options.show, colour)
    elif options.format == "json":
        report = outputs.as_json(results, findings, len(every) - len(findings), list(arguments))
    else:
        report = outputs.sarif(findings) if options.format == "sarif" else outputs.github(findings)
    try:
        _write(report, options.output)
        if options.write_baseline:
            _write_baseline(options.write_baseline, every)
            return 0
    except OSError as error:
        where = error.filename or options.output or options.write_baseline or "standard output"
        parser.error(f"{where}: {error.strerror}")
    if options.fail_on == "never":
        return 0
    limit = LEVELS.index(options.fail_on)
    return int(any(LEVELS.index(finding.level) >= limit for finding in findings))


def _write(report: str, path: Path | None) -> None:
    if path is not None:
        path.write_text(report, encoding="utf-8")
        return
    try:
        sys.stdout.write(report)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed the pipe; Python would print an error at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _read_baseline(path: Path) -> set[str]:
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("schema") != outputs.SCHEMA or not isinstance(data.get("findings"), dict):
        raise ValueError(f"{path} is not a baseline of this version; --write-baseline writes one")
    return set(data["findings"])


def _write_baseline(path: Path, findings: list[Finding]) -> None:
    kept = {f.fingerprint(): f"{f.file}: {f.code} {f.name}" for f in findings}
    path.write_text(json.dumps({"schema": outputs.SCHEMA, "findings": kept}, indent=1, sort_keys=True) + "\n")
