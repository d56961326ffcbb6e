"""`python -m compatgrad profile merge`: one report of several processes, from the JSON that each of them wrote."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .report import SCHEMA, hints, summary

DESCRIPTION = """\
Prints one report of the processes of a program, from the files that `profile --format json --output FILE` wrote in each
of them: the steps of all, and times of functions, layers and lines that are means over the processes.

examples:
  mpiexec -n 4 python -m compatgrad profile --stop --format json --output 'part-{rank}.json' -- train.py
  python -m compatgrad profile merge part-*.json
  python -m compatgrad profile merge part-0.json --by line      another table of one process
"""


class MergeError(Exception):
    """A file is no report of a profile."""


def read(path: str) -> dict[str, Any]:
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise MergeError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise MergeError(f"{path} is no JSON: {error}") from None
    if not isinstance(report, dict) or report.get("tool") != "compatgrad profile":
        raise MergeError(f"{path} was not written by `profile --format json`")
    if report.get("schema") != SCHEMA:
        raise MergeError(f"{path} has the version {report.get('schema')}, and this is version {SCHEMA}")
    return report


def merged(paths: Sequence[str]) -> dict[str, Any]:
    """One report made of several. Each process has the same weight."""
    reports = [read(path) for path in paths]
    first = reports[0]
    if len(reports) == 1:
        return first
    found = dict(first)
    for name in ("step", "hooked_step"):
        found[name] = summary([t for r in reports if r[name] for t in r[name]["times"]])
    tables = [r["table_of"] for r in reports if r["table_of"] is not None]
    found["table_of"] = sum(tables) / len(tables) if tables else None
    parts = [r["parts"] for r in reports if r["parts"]]
    found["parts"] = {name: sum(p[name] for p in parts) / len(parts) for name in parts[0]} if parts else {}
    found["seen"] = sum(r["seen"] for r in reports)
    found["memory"] = [m for r in reports for m in r["memory"]]
    found["trace"] = found["original"] = None
    found.pop("ratio", None)
    for kind in ("functions", "layers", "lines"):
        found[kind] = _mean(r[kind] for r in reports)
    found["processes"] = [
        {"file": path, "step": r["step"], "parts": r["parts"], "started": r["started"], "device": r["device"]}
        for path, r in zip(paths, reports, strict=True)
    ]
    found["hints"] = hints(found)
    return found


def _mean(tables: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of several tables by name, with means of their numbers; a row that a table has not is 0 there."""
    count = 0
    sums: dict[str, dict[str, Any]] = {}
    for table in tables:
        count += 1
        for row in table:
            known = sums.get(row["name"])
            if known is None:
                sums[row["name"]] = dict(row)
                continue
            for key, value in row.items():
                if key != "line" and isinstance(value, (int, float)):
                    known[key] = known.get(key, 0) + value
    for row in sums.values():
        row.update({k: v / count for k, v in row.items() if k != "line" and isinstance(v, (int, float))})
    return list(sums.values())


def add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a .json file of `profile --format json`")
