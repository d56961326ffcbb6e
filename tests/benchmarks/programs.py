"""Times public programs, the examples of this repository and imports beside the originals, which take turns:

    python -m tests.benchmarks.programs [--chainer PYTHON] [--nnabla PYTHON] [--mxnet PYTHON] [--python PYTHON]
                                        [--repos DIR] [--rounds N] [--steps N] [--only WORD...] [--json FILE]

The public programs are those of tests/programs, whose README says how DIR is made; without --repos they are left out.
Prints, worst first, the ratios of compatgrad's time to the original's: processor time and wall-clock time, each the
median over the rounds of the ratio within a round. The time of a public program is the median of its steps, that of an
example is the time of the whole script without the time of the imports, which are rows of their own.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.programs.__main__ import Failed, driver_of, median_ms, programs, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
# frontend -> what its programs import
IMPORTS = {
    "chainer": "import chainer, chainer.functions, chainer.links, chainer.training.extensions",
    "nnabla": "import nnabla, nnabla.functions, nnabla.parametric_functions, nnabla.solvers, nnabla.monitor",
    "mxnet": "import mxnet, mxnet.gluon, mxnet.autograd",
}
EXAMPLES = {name: sorted((ROOT / "examples" / name).glob("train_*.py")) for name in IMPORTS}

CACHE = tempfile.mkdtemp()  # compiled modules of both sides
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)
WARM: set[str] = set()  # frontends whose modules are compiled
Seconds = tuple[float, float]  # processor time, wall-clock time


def timed(command: list[Any]) -> Seconds:
    """The time of a process. Raises Failed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONPYCACHEPREFIX": CACHE}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each import would compile all modules anew
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    with tempfile.TemporaryDirectory() as folder:
        before, start = used(), time.perf_counter()
        done = subprocess.run([str(c) for c in command], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise Failed("\n".join(done.stderr.strip().split("\n")[-12:]))
        return used() - before, time.perf_counter() - start


def of_process(*arguments: Any) -> Any:
    """A measurement of a process of Python: a function of the command that runs the interpreter."""
    return lambda command: timed([*command, *arguments])


def of_steps(program: dict[str, Any], repos: pathlib.Path, steps: int) -> Any:
    """A measurement of the steps of a public program."""
    repo = repos / program["repository"].replace("/", "+") / program.get("folder", "")

    def measure(command: list[Any]) -> Seconds:
        result = run(command, driver_of(program["name"]), repo, steps, None, False)
        return median_ms(result, "cpu") / 1000, median_ms(result) / 1000

    return measure


def chosen(options: argparse.Namespace) -> list[tuple[str, str, Any]]:
    """(name, frontend, measurement) of everything that can be measured."""
    found = [(f"import {name}", name, of_process("-c", code)) for name, code in IMPORTS.items()]
    for name, scripts in EXAMPLES.items():
        found += [(f"examples/{name}/{script.name}", name, of_process(script)) for script in scripts]
    if options.repos:
        for program in programs():
            if (options.repos / program["repository"].replace("/", "+")).is_dir():
                found.append((program["name"], program["frontend"], of_steps(program, options.repos, options.steps)))
    asked = {name for name in IMPORTS if getattr(options, name)}
    return [
        entry
        for entry in found
        if entry[1] in asked and (not options.only or any(word in entry[0] for word in options.only))
    ]


def compare(name: str, frontend: str, measure: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Run both sides in turns, and return a row of the table."""
    sides = {"original": [getattr(options, frontend)], "here": [options.python, "-m", "compatgrad", "run"]}
    times: dict[str, list[Seconds]] = {side: [] for side in sides}
    imports = of_process("-c", IMPORTS[frontend]) if name.startswith("examples/") else None
    row: dict[str, Any] = {"name": name, "frontend": frontend}
    if frontend not in WARM:
        for command in sides.values():  # compiles the modules
            of_process("-c", IMPORTS[frontend])(command)
        WARM.add(frontend)
    for _ in range(options.rounds):
        for side, command in sides.items():
            try:
                cpu, wall = measure(command)
                if imports:
                    less = imports(command)
                    cpu, wall = cpu - less[0], wall - less[1]
            except Failed as e:
                return {**row, "failed": side, "error": str(e)}
            times[side].append((cpu, wall))
    for clock, index in (("cpu", 0), ("wall", 1)):
        here, original = ([t[index] for t in times[side]] for side in ("here", "original"))
        row[clock] = {
            "here": statistics.median(here),
            "original": statistics.median(original),
            "ratio": statistics.median(a / b for a, b in zip(here, original, strict=True)),
        }
    return row


def line(row: dict[str, Any]) -> str:
    head = f"{row['name']:45}"
    if "failed" in row:
        return (
            f"{head}fails on {'compatgrad' if row['failed'] == 'here' else 'the original'}: "
            + (row["error"].split("\n")[-1][:120])
        )
    cells = [
        f"{1000 * row[clock]['original']:11.1f}{1000 * row[clock]['here']:11.1f}{row[clock]['ratio']:7.2f}"
        for clock in ("cpu", "wall")
    ]
    return head + "".join(cells)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.programs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--chainer", metavar="PYTHON", help="an interpreter in which real Chainer 7.8.1 runs")
    parser.add_argument("--nnabla", metavar="PYTHON", help="an interpreter in which real nnabla 1.39.0 runs")
    parser.add_argument("--mxnet", metavar="PYTHON", help="an interpreter in which real MXNet 1.9.1 runs")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for compatgrad; this one by default")
    parser.add_argument("--repos", type=pathlib.Path, metavar="DIR", help="checkouts of public programs, OWNER+NAME")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side has its turn (default 3)")
    parser.add_argument("--steps", type=int, default=13, help="steps of a public program (default 13)")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="programs whose name contains a word")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows to FILE")
    options = parser.parse_args()
    for name in (*IMPORTS, "python"):
        if getattr(options, name) and not shutil.which(getattr(options, name)):
            parser.error(f"--{name}: there is no interpreter {getattr(options, name)}")
    if not any(getattr(options, name) for name in IMPORTS):
        parser.error(f"expected at least one of {', '.join(f'--{name}' for name in IMPORTS)}")
    if options.repos and not options.repos.is_dir():
        parser.error(f"--repos: {options.repos} is no folder")
    for name in ("rounds", "steps"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: expected 1 or more, got {getattr(options, name)}")
    rows = []
    for entry in chosen(options):
        rows.append(compare(*entry, options))
        print(line(rows[-1]), file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    measured = sorted((r for r in rows if "failed" not in r), key=lambda r: -r["cpu"]["ratio"])
    print("ms: original, compatgrad, ratio by processor time; the same by wall clock")
    for row in measured + [r for r in rows if "failed" in r]:
        print(line(row))
    slower = [r for r in measured if r["cpu"]["ratio"] > 1]
    print(f"{len(slower)} of {len(measured)} are slower than the original; {len(rows) - len(measured)} fail")
    return int(bool(slower) or len(measured) < len(rows))


if __name__ == "__main__":
    raise SystemExit(main())
