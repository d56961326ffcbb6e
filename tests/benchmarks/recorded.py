"""Runs of `tests.benchmarks` that were recorded by --json."""

from __future__ import annotations

import datetime
import json
import os
import pathlib


def _processor() -> str:
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown")


def merged(file: str, rows: list[dict], limits: dict, threads: int, rounds: int) -> dict:
    """What FILE of --json contains after a run: the run's rows, and the older rows of what the run did not measure."""
    import torch

    run = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "threads": threads,
        "rounds": rounds,
    }
    path = pathlib.Path(file)
    old = json.loads(path.read_text()) if file != "-" and path.exists() else {"rows": [], "limits": {}}
    new = [{**row, **run} for row in rows]
    measured = {_place(row) for row in new}
    kept = [row for row in old["rows"] if _place(row) not in measured]
    return {"rows": kept + new, "limits": {**old["limits"], **limits}}


def _place(row: dict) -> tuple:
    return tuple(row.get(key) for key in ("workload", "framework", "against", "unit", "threads"))
