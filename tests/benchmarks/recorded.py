"""Runs of `tests.benchmarks` that were recorded by --json."""

from __future__ import annotations

import datetime
import json
import os
import pathlib


def _processor() -> str:
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown")


def refused(file: str) -> str | None:
    """Why a run cannot be recorded in FILE, or None: whoever measures for hours learns it before."""
    if file == "-":
        return None
    path = pathlib.Path(file)
    try:
        old = json.loads(path.read_text()) if path.exists() else {"rows": [], "limits": {}}
        if not isinstance(old["rows"], list) or not isinstance(old["limits"], dict):
            return f"{file} has no rows and limits"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{file} is no record of runs: {type(error).__name__}: {error}"
    beside = path if path.exists() else path.parent
    return None if os.access(beside, os.W_OK) else f"{beside} cannot be written to"


def write(file: str, content: dict) -> None:
    """Replaces FILE when its text is complete; an interrupt leaves the old one."""
    text = json.dumps(content, indent=1) + "\n"
    path = pathlib.Path(file)
    if not path.is_file() and path.exists():  # such as /dev/stdout
        path.write_text(text)
        return
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        new.write_text(text)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


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
