"""Trains public programs on the originals and here, and compares the curves.

    python -m tests.programs --repos DIR --legacy PYTHON --nnabla PYTHON [--only NAME...] [--steps N] [--json FILE]
    python -m tests.programs --list

DIR holds a checkout of each program's repository, at the commit that programs.json names, in a folder OWNER+NAME.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from typing import Any

from tests.programs.compare import compare

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


def programs() -> list[dict[str, Any]]:
    """The entries of programs.json."""
    return json.loads((FOLDER / "programs.json").read_text())


def driver_of(name: str) -> pathlib.Path:
    return FOLDER / "drivers" / f"{name}.py"


class Failed(Exception):
    """A run that ended with an error, with the last lines of its output."""


def run(
    command: list[Any], driver: pathlib.Path, repo: pathlib.Path, steps: int, seed: int | None, double: bool
) -> dict[str, Any]:
    """Run a driver once. Raises Failed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["CHAINER_DTYPE"] = "float64" if double else "float32"
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.json")
        rest = [FOLDER / "harness.py", driver, "--repo", repo, "--steps", steps, "--out", out]
        rest += [] if seed is None else ["--perturb", seed]
        done = subprocess.run(
            [str(c) for c in [*command, *rest]], cwd=folder, env=environment, capture_output=True, text=True
        )
        if not out.exists():
            raise Failed("\n".join(done.stderr.strip().split("\n")[-12:]))
        return json.loads(out.read_text())


def median_ms(result: dict[str, Any], clock: str = "seconds") -> float:
    """Median milliseconds per step after three that compile and allocate. clock: "cpu" for busy machines."""
    return 1000 * statistics.median(result[clock][3:] or result[clock])


def judge(program: dict[str, Any], options: argparse.Namespace, double: bool = False) -> dict[str, Any]:
    """Run a program on the original and here, and return a row of the table. double: in float64, which nnabla lacks."""
    row: dict[str, Any] = {"name": program["name"], "frontend": program["frontend"], "double": double}
    driver = driver_of(program["name"])
    repo = options.repos / program["repository"].replace("/", "+")
    if not driver.exists():
        return {**row, "status": "no driver"}
    if not repo.is_dir():
        return {**row, "status": "not fetched"}
    repo = repo / program.get("folder", "")
    python = options.nnabla if program["frontend"] == "nnabla" else options.legacy
    original: dict[str, Any] = {}

    def perturbed(*seeds: int) -> list[dict[str, Any]]:
        return [run([python], driver, repo, options.steps, seed, double)["curves"] for seed in seeds]

    try:
        original = run([python], driver, repo, options.steps, None, double)
        others = perturbed(1, 2)
    except Failed as e:
        return {**row, "status": "the original fails", "error": str(e)}
    try:
        here = run([options.python, "-m", "compatgrad", "run"], driver, repo, options.steps, None, double)
    except Failed as e:
        return {**row, "status": "fails", "error": str(e), "original_ms": median_ms(original)}
    verdict = compare(original["curves"], here["curves"], others, double)
    if not verdict.same and not double:  # more runs of the original, as few of them cross a rare threshold
        try:
            verdict = compare(original["curves"], here["curves"], others + perturbed(3, 4, 5), double)
        except Failed as e:
            return {**row, "status": "the original fails", "error": str(e)}
    return {
        **row,
        "status": "same" if verdict.same else "differs",
        "where": verdict.where,
        "first": verdict.first,
        "drift": verdict.drift,
        "own": verdict.own,
        "steps": len(here["seconds"]),
        "original_ms": median_ms(original),
        "ms": median_ms(here),
        "original_cpu_ms": median_ms(original, "cpu"),
        "cpu_ms": median_ms(here, "cpu"),
        "curves": {"original": original["curves"], "here": here["curves"]},
    }


def line(row: dict[str, Any]) -> str:
    text = f"{row['name']:27}{'double' if row.get('double') else row['frontend']:9}{row['status']:19}"
    if "first" in row:
        text += f"{row['first']:<9.1e}{row['drift']:<9.1e}{row['own']:<9.1e}"
        text += f"{row['original_ms']:<11.1f}{row['ms']:<11.1f}{row['original_ms'] / row['ms']:<6.2f}"
        text += f"{row['original_cpu_ms'] / row['cpu_ms']:<6.2f}{row['where']}"
    elif "error" in row:
        text += row["error"].split("\n")[-1][:120]
    return text


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the list of programs, and run nothing")
    parser.add_argument(
        "--repos", type=pathlib.Path, help="the folder with a checkout of each repository, named OWNER+NAME"
    )
    parser.add_argument("--legacy", help="a Python with Chainer and MXNet")
    parser.add_argument("--nnabla", help="a Python with nnabla")
    parser.add_argument("--python", default=sys.executable, help="the Python for compatgrad; this one by default")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="programs by their names in the list; all by default"
    )
    parser.add_argument("--steps", type=int, default=30, help="steps to train each of the four runs (30)")
    parser.add_argument("--double", action="store_true", help="in double precision, which nnabla lacks")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows, with all curves, to this file")
    options = parser.parse_args()
    chosen = [p for p in programs() if not options.only or p["name"] in options.only]
    if options.list:
        for p in chosen:
            state = "" if driver_of(p["name"]).exists() else "no driver yet"
            print(f"{p['name']:27}{p['frontend']:9}{p['repository']:50}{p['kind']:26}{state}")
        return 0
    if unknown := set(options.only) - {p["name"] for p in chosen}:
        parser.error(f"not in the list: {', '.join(sorted(unknown))}")
    peers = {"nnabla" if p["frontend"] == "nnabla" else "legacy" for p in chosen}
    if missing := [f"--{name}" for name in ("repos", *sorted(peers)) if getattr(options, name) is None]:
        parser.error(f"{', '.join(missing)}: needed for these programs")
    if options.steps < 1:
        parser.error(f"--steps: expected 1 or more, got {options.steps}")
    if not options.repos.is_dir():
        parser.error(f"--repos: {options.repos} is no folder")
    for python in (*(getattr(options, name) for name in peers), options.python):
        if shutil.which(python) is None:
            parser.error(f"there is no Python {python}")
    head = ("program", "frontend", "status", "first", "drift", "own", "original", "here", "times", "cpu")
    print("{:27}{:9}{:19}{:9}{:9}{:9}{:11}{:11}{:6}{}".format(*head))
    rows = []
    for program in chosen:
        if options.only or driver_of(program["name"]).exists():
            rows.append(judge(program, options, options.double))
            print(line(rows[-1]), flush=True)
            if rows[-1]["status"] == "differs" and program["frontend"] != "nnabla" and not options.double:
                rows.append(judge(program, options, double=True))  # tells rounding from a fault
                print(line(rows[-1]), flush=True)
            if options.only and "error" in rows[-1]:
                print(rows[-1]["error"])
    if options.json:
        options.json.write_text(json.dumps(rows))
    # the verdict in float64 replaces that in float32, if the original supports float64
    last = {r["name"]: r["status"] for r in rows if "first" in r or not r.get("double") or options.double}
    print(f"{sum(s == 'same' for s in last.values())} of {len(last)} are the same; {len(chosen)} are on the list")
    return int(any(s != "same" for s in last.values()))


if __name__ == "__main__":
    raise SystemExit(main())
