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
    files = [folder / f"{first}.{len(python)}.{what}" for what in ("status", "pickle")]
    status, out = files
    spans = [(first, first + count)]
    while spans:
        begin, end = spans.pop()
        status.unlink(missing_ok=True)
        try:
            done = subprocess.run(
                command(python, kind, begin, end - begin, how, files), capture_output=True, text=True, timeout=limit
            )
            code, said = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, said = "time limit", ""
        if code == 0:
            results |= pickle.loads(out.read_bytes())
            continue
        seed = int(status.read_text()) if status.exists() and status.read_text().strip() else begin
        complaints.append((seed, code, "\n".join(said.strip().splitlines()[:25])))
        # The results of the programs before went with the process: these run again.
        spans += [(b, e) for b, e in ((seed + 1, end), (begin, seed)) if b < e]
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


def cannot_import(python: str, module: str) -> str:
    """Why a Python does not import a module; nothing where it does."""
    try:
        done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True)
    except OSError as e:
        return str(e)
    said = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else said[-1] if said else f"it ends with {done.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.surgery",
        description=tests.surgery.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=["chainer", "nnabla"], help="whose API the programs use")
    parser.add_argument("--programs", type=int, default=1000, help="number of programs (1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--tame", action="store_true", help="only operations that the original defines")
    parser.add_argument("--peer", help="a Python with the original: programs are tame and must give its numbers")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="processes at a time (one per core)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that 200 programs may take (300)")
    args = parser.parse_args()
    how = "tame" if args.tame or args.peer else "wild"
    if args.peer and (said := cannot_import(args.peer, args.kind)):
        parser.error(f"--peer: {args.peer} does not import {args.kind}: {said}")
    here = [sys.executable, "-m", "compatgrad", "run"]
    starts = range(args.first, args.first + args.programs, BATCH)
    bad = differing = compared = lost = 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(args.processes) as pool:
        folder = Path(name)

        def batch(first: int):
            count = min(BATCH, args.first + args.programs - first)
            mine = run(here, args.kind, first, count, how, folder, args.limit)
            theirs = run([args.peer], args.kind, first, count, how, folder, args.limit) if args.peer else ({}, [])
            return mine, theirs

        for (mine, complaints), (theirs, ended) in pool.map(batch, starts):
            lost += len(ended)
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
    if args.peer:
        print(f"; {compared} compared with the original, whose process broke in {lost}; {differing} differ", end="")
    print()
    sys.exit(bool(bad or differing or (args.peer and not compared)))


if __name__ == "__main__":
    main()
