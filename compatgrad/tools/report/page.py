"""A report as one HTML page without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from compatgrad.tools.report.text import HEADER, headline, most_called, size, table_rows

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>compatgrad report</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }}
table {{ border-collapse: collapse; }}
th, td {{ border-bottom: 1px solid #8884; padding: .2em .8em .2em 0; text-align: left; vertical-align: top; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
code {{ font-size: 90%; }}
</style>
</head>
<body>
<h1>compatgrad report</h1>
{body}</body>
</html>
"""


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = []
    for row in rows:
        cells = "".join(
            f'<td class="number">{cell:,}</td>' if isinstance(cell, int) else f"<td>{escape(str(cell))}</td>"
            for cell in row
        )
        lines.append(f"<tr>{cells}</tr>\n")
    if not lines:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    return f"<h2>{escape(title)}</h2>\n<table>\n<tr>{head}</tr>\n{''.join(lines)}</table>\n"


def page(data: dict[str, Any]) -> str:
    """The page's text."""
    return _PAGE.format(body=body(data))


def body(data: dict[str, Any]) -> str:
    """The headline and the tables, also for notebooks."""
    rows = [(name, int(calls.replace(",", "")), *rest) for name, calls, *rest in table_rows(data)]
    tables = _table("Slower paths, and copies between devices", HEADER, rows)
    tables += _table(
        "Differences from the original", ("name", "calls", "first at", "what happens here", "described in"),
        [(row["name"], row["calls"], row["first"], row["words"], f"{row['anchor']}: {row['row']}")
         for row in data["deviations"]],
    )  # fmt: skip
    tables += _table(
        "Old names given back", ("name", "calls", "first at", "removed in", "today"),
        [(row["name"], row["calls"], row["first"], f"{row['library']} {row['removed']}", row["now"])
         for row in data["shims"]],
    )  # fmt: skip
    tables += _table(
        "Names that compatgrad does not have", ("name", "calls", "first at"),
        [(row["name"], row["calls"], row["first"]) for row in data["absent"]],
    )  # fmt: skip
    for frontend, names in most_called(data).items():
        title = "Functions of compatgrad itself" if frontend == "compatgrad" else f"Functions of {frontend}"
        tables += _table(title, ("name", "calls"), names)
    tables += _table(
        "Operators by device and type", ("operator", "frontend", "device", "dtype", "calls", "first at"),
        [(row["op"], row["frontend"], row["device"], row["dtype"], row["calls"], row["first"])
         for row in data["operators"]],
    )  # fmt: skip
    memory = data["memory"]
    facts = [", ".join(f"{name} {version}" for name, version in data["versions"].items())]
    facts += [f"{data['host']}, started {data['started']}, {data['seconds']:.1f} s"]
    if memory["process"] is not None:
        facts.append(f"peak memory {size(memory['process'])}")
    facts += [f"{size(n)} of torch on {device}" for device, n in memory["gpus"].items()]
    command = escape(" ".join(data["command"]))
    return (
        f"<p><strong>{escape(headline(data))}</strong></p>\n"
        f"<p><code>{command}</code><br>{'<br>'.join(map(escape, facts))}</p>\n{tables}"
    )
