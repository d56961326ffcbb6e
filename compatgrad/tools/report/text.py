"""A report as text of at most 25 lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.core.notes import REASONS
from compatgrad.tools._words import count

LINES = 25
_ROWS = 11  # of the table
_DEVIATIONS = 4


def size(number: int) -> str:
    """A number of bytes in words."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024  # type: ignore[assignment]
    return f"{number:.1f} GiB"


def headline(data: dict[str, Any]) -> str:
    """What ran where, and how much of it on fast kernels."""
    operators, slow = data["operators"], data["slow"]
    devices = sorted({row["device"] for row in operators}) or ["cpu"]
    functions = sum(row["calls"] for row in slow if row["reason"] in ("python", "composed", "numpy", "arrays"))
    composed = any(row["reason"] == "composed" for row in slow)
    # the functions that a composed one consists of are compatgrad's own
    fast = sum(row["calls"] for row in operators if row["frontend"] != "compatgrad" or not composed)
    if not fast + functions:
        return "No operator of chainer, nnabla or mxnet ran."
    where = f"Ran on {', '.join(devices)}" + (f", {data['processes']} processes" if data["processes"] > 1 else "")
    share = "All" if not functions else f"{_percent(fast, fast + functions)} %"
    kinds = len(slow)
    more = "None took a slower path" if not kinds else f"{count(kinds, 'kind')} of call took a slower path"
    if fast + functions == 1:
        ran = f"Its only operator call ran on a {'slower path' if functions else 'fast kernel'}"
    else:
        ran = f"{share} of {count(fast + functions, 'operator call')} ran on fast kernels"
    return f"{where}. {ran}. {more}."


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{min(share, 99.9):.1f}" if share > 99.5 else f"{share:.0f}" if share < 10 else f"{share:.1f}"


def table_rows(data: dict[str, Any]) -> list[tuple[str, ...]]:
    """The rows of slow paths and of copies between devices: name, calls, where, why, first, help."""
    rows: list[tuple[str, ...]] = []
    for row in sorted(data["slow"], key=lambda row: -row["calls"]):
        more = f" ({size(row['bytes'])})" if row["bytes"] else ""
        rows.append((row["name"], f"{row['calls']:,}", row["where"], row["why"] + more, row["first"], row["help"]))
    for row in sorted(data["transfers"], key=lambda row: -row["bytes"]):
        why = f"copied between devices ({size(row['bytes'])})"
        rows.append((row["name"], f"{row['calls']:,}", "", why, row["first"], REASONS["move"].remedy))
    return rows


HEADER = ("name", "calls", "where", "why", "first at", "what would help")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[-1] = 0
    return [
        "  ".join(
            cell.rjust(width) if i == 1 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _short(path: str, limit: int = 40) -> str:
    return path if len(path) <= limit else "…" + path[1 - limit :]


def _what(row: dict[str, Any]) -> str:
    """A difference as its row of docs/deviations.md begins, without the marks of code."""
    words = str(row["row"]).replace("`", "")
    return words if len(words) <= 60 else words[:59] + "…"


def _listed(what: str, rows: Sequence[str], limit: int = 6) -> list[str]:
    """One line with the first rows, if there are any."""
    more = f", and {len(rows) - limit} more" if len(rows) > limit else ""
    return [f"{what}: {', '.join(rows[:limit])}{more}"] if rows else []


def most_called(data: dict[str, Any]) -> dict[str, list[tuple[str, int]]]:
    """The functions of each frontend and how often each was called, the most called first."""
    frontends: dict[str, dict[str, int]] = {}
    for row in data["operators"]:
        names = frontends.setdefault(row["frontend"], {})
        names[row["name"]] = names.get(row["name"], 0) + row["calls"]
    return {name: sorted(rows.items(), key=lambda row: (-row[1], row[0])) for name, rows in frontends.items()}


def text(data: dict[str, Any]) -> str:
    """The report, in lines that end with newlines."""
    lines = [f"compatgrad report: {headline(data)}"]
    rows = table_rows(data)
    if rows:
        kept = [(*row[:4], _short(row[4]), row[5]) for row in rows[: _ROWS if len(rows) == _ROWS else _ROWS - 1]]
        lines += _aligned([HEADER, *kept])
        if len(rows) > len(kept):
            lines.append(f"… and {len(rows) - len(kept)} more")
    deviations = data["deviations"]
    for row in deviations[:_DEVIATIONS]:
        where = f"{count(row['calls'], 'call')}, first at {_short(row['first']) or 'an unknown line'}"
        lines.append(f"differs from the original: {_what(row)} ({where}): {row['words']}; see {row['anchor']}")
    if len(deviations) > _DEVIATIONS:
        lines += _listed("these differ, too", [_what(row) for row in deviations[_DEVIATIONS:]])
    lines += _listed(
        "old names of other packages that compatgrad provided", _once([row["name"] for row in data["shims"]])
    )
    lines += _listed("names that compatgrad does not have", [
        f"{row['name']} ({_short(row['first'])})" if row["first"] else row["name"] for row in data["absent"]
    ], 4)  # fmt: skip
    if len(lines) == 1:
        lines[0] += " Nothing else to report."
    called = most_called(data)
    for frontend in [name for name in called if name != "compatgrad"] or list(called):
        lines += _listed(f"{frontend} calls", [f"{name} {n:,}" for name, n in called[frontend]], 7)
    memory = data["memory"]
    sizes = [] if memory["process"] is None else [f"{size(memory['process'])} of the process"]
    sizes += [f"{size(n)} of torch on {device}" for device, n in memory["gpus"].items()]
    lines += _listed("peak memory", sizes)
    return "".join(f"{line}\n" for line in lines[:LINES])


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
