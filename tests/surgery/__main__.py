"""See `python -m tests.surgery --help`."""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import tests.surgery

BATCH = 200


def command(python: list[str], kind: str, first: int, count: int, how: str, files: list[Path]) -> list[str]:
    return [*python, "-m", "tests.surgery.worker", kind, str(first), str(count), how, *map(str, files)]


def run(python: list[str], kind: str, first: int, count: int, how: str, folder: Path, limit: float):
    """The results by seed, and a complaint for each program after which the process was not well."""
    complaints, results = [], {}
    status, out = folder / f"{first}.{len(python)}.status", folder / f"{first}.{len(python)}.pickle"
    end = first + count
    while first < end:
        files = [status, out]
        try:
            done = subprocess.run(
                command(python, kind, first, end - first, how, files), capture_output=True, text=True, timeout=limit
            )
            code, said = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, said = "time limit", ""
        if code == 0:
            results |= pickle.loads(out.read_bytes())
            break
        seed = int(status.read_text()) if status.exists() and status.read_text().strip() else first
        complaints.append((seed, code, "\n".join(said.strip().splitlines()[:25])))
        first = seed + 1
    return results, complaints


def same(a, b, path="") -> str:
    """Where two results differ; nothing where they do not."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} entries"
        return next((d for i, (x, y) in enumerate(zip(a, b, strict=True)) if (d := same(x, y, f"{path}[{i}]"))), "")
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return "" if np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True) else f"{path}: {a} and {b}"
    return "" if type(a) is type(b) and a == b else f"{path}: {a!r} and {b!r}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.surgery",
        description=tests.surgery.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=["chainer", "nnabla"])
    parser.add_argument("--programs", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--tame", action="store_true", help="only what the original defines")
    parser.add_argument("--peer", help="a Python with the original: programs are tame and must give its numbers")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for 200 programs (300)")
    args = parser.parse_args()
    how = "tame" if args.tame or args.peer else "wild"
    here = [sys.executable, "-m", "compatgrad", "run"]
    starts = range(args.first, args.first + args.programs, BATCH)
    bad = differing = compared = 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(args.processes) as pool:
        folder = Path(name)

        def batch(first: int):
            count = min(BATCH, args.first + args.programs - first)
            mine = run(here, args.kind, first, count, how, folder, args.limit)
            theirs = run([args.peer], args.kind, first, count, how, folder, args.limit) if args.peer else ({}, [])
            return mine, theirs

        for (mine, complaints), (theirs, _) in pool.map(batch, starts):
            for seed, code, said in complaints:
                bad += 1
                print(f"seed {seed}: exit {code}\n{said}\n", flush=True)
            for seed, events in theirs.items():
                if seed not in mine:
                    continue
                compared += 1
                if events and events[-1] and events[-1][-1] == "error":  # the original did not survive this
                    events, mine[seed] = events[:-1], mine[seed][: len(events) - 1]
                if difference := same(events, mine[seed]):
                    differing += 1
                    print(f"seed {seed}: {difference}", flush=True)
    print(f"{args.programs} {how} programs, {bad} of them broke the process", end="")
    print(f"; {compared} compared with the original, {differing} differ" if args.peer else "")
    sys.exit(bool(bad or differing))


main()
