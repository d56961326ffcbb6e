"""Files of reports: where they go, how they are written and read, and how those of several processes become one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from compatgrad.tools.report.collect import SCHEMA, rank
from compatgrad.tools.report.page import page
from compatgrad.tools.report.text import text

FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "json": lambda data: json.dumps(data, indent=1, sort_keys=True) + "\n",
    "html": page,
    "txt": text,
}


class FileError(Exception):
    """A file is no report, or cannot be read or written."""


def path_of(target: str) -> Path:
    """The file of this process: `{pid}` and `{rank}` are replaced; the rank is 0 without a launcher."""
    return Path(target.replace("{pid}", str(os.getpid())).replace("{rank}", rank() or "0"))


def write(data: dict[str, Any], path: Path) -> None:
    """Writes a report in the format that the name's ending says."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FORMATS[path.suffix.removeprefix(".")](data), encoding="utf-8")
    except OSError as error:
        raise FileError(f"the report cannot be written: {error}") from error


def read(path: str) -> dict[str, Any]:
    """The data of a report's .json file."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise FileError(f"{path}: expected a .json file of `compatgrad run --report`: {error}") from error
    if not isinstance(data, dict) or data.get("kind") != "compatgrad report":
        raise FileError(f"{path}: expected a .json file of `compatgrad run --report`, got other JSON")
    if data.get("schema") != SCHEMA:
        raise FileError(f"{path}: expected a report of schema {SCHEMA}, got one of schema {data.get('schema')}")
    return data


_LISTS = {
    "operators": ("name", "op", "frontend", "device", "dtype"),
    "slow": ("name", "reason"),
    "transfers": ("name",),
    "deviations": ("name",),
    "shims": ("name", "first"),
    "absent": ("name",),
}


def merged(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One report of several processes: calls and bytes are summed; for memory and time the largest value is taken."""
    if len(reports) == 1:
        return reports[0]
    whole = {**reports[0], "pid": None, "rank": None, "processes": sum(r["processes"] for r in reports)}
    whole["started"] = min(r["started"] for r in reports)
    whole["seconds"] = max(r["seconds"] for r in reports)
    for name, keys in _LISTS.items():
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for report in reports:
            for row in report[name]:
                key = tuple([row[k] for k in keys])
                if key in rows:
                    for number in ("calls", "bytes"):
                        if number in row:
                            rows[key][number] += row[number]
                else:
                    rows[key] = dict(row)
        whole[name] = sorted(rows.values(), key=lambda row: -row["calls"])
    sizes = [r["memory"]["process"] for r in reports if r["memory"]["process"] is not None]
    gpus: dict[str, int] = {}
    for report in reports:
        for device, size in report["memory"]["gpus"].items():
            gpus[device] = max(size, gpus.get(device, 0))
    whole["memory"] = {"process": max(sizes, default=None), "gpus": gpus}
    return whole
