"""What was measured, as a dict for JSON and as text."""

from __future__ import annotations

import linecache
import os
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from compatgrad.core.lines import shown
from compatgrad.tools._words import agreeing, count
from compatgrad.tools.compatgrad_recorder._steps import PHASES, quantile, quiet

from .record import Row
from .session import Result

SCHEMA = 1
_BY = {"op": "functions", "layer": "layers", "line": "lines"}


def summary(times: Sequence[float]) -> dict[str, Any] | None:
    """Median and quartiles of times of steps."""
    if not times:
        return None
    q = {name: quantile(times, at) for name, at in (("median", 0.5), ("q1", 0.25), ("q3", 0.75))}
    return {**q, "count": len(times), "times": list(times)}


def shares(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    """Mean seconds of each part of a step, of the steps that took no longer than the median."""
    if not parts:
        return {}
    kept = [parts[k] for k in quiet([sum(step.values()) for step in parts])]
    return {name: sum(step[name] for step in kept) / len(kept) for name in PHASES}


def build(result: Result, program: Sequence[str], original: dict[str, Any] | None) -> dict[str, Any]:
    """All results, in types that JSON has. Times are seconds per step."""
    allocated = result.memory[0].allocated if result.memory else {}
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": "compatgrad profile",
        "program": list(program),
        "started": result.started,
        "ends_with": result.ends_with,
        "step": summary(result.times),
        "hooked_step": summary(result.hooked),
        "table_of": statistics.median(result.kept) if result.kept else None,
        "parts": shares(result.parts),
        "clock": result.clock,
        "seen": result.seen,
        "device": result.device,
        "threads": result.threads,
        "versions": result.versions,
        "functions": [{"name": k, **_row(r, allocated, k)} for k, r in result.by_function.items()],
        "layers": [{"name": k or "(no layer)", **_layer(r, allocated, k)} for k, r in result.by_layer.items()],
        "lines": [{**_line(*k), **_row(r, {}, "")} for k, r in result.by_line.items()],
        "memory": [
            {
                "device": m.device,
                "step": m.seconds,
                "peak": m.peak,
                "peak_at": m.peak_at,
                "peak_in": m.peak_in,
                "curve": m.curve,
                "parts": m.parts,
            }
            for m in result.memory
        ],
        "trace": result.trace or None,
        "original": None,
    }
    if original is not None:
        step = summary(original["times"])
        found["original"] = {
            **{k: original[k] for k in ("interpreter", "versions", "threads", "ends_with")},
            "step": step,
            "parts": shares(original["phases"]),
        }
        if step and found["step"]:
            found["ratio"] = found["step"]["median"] / step["median"]
    found["hints"] = hints(found)
    return found


def _row(row: Row, allocated: dict[str, int], name: str) -> dict[str, Any]:
    found = {
        "calls": row.calls,
        "forward": row.forward,
        "backward": row.backward,
        "other": row.own,
        "total": row.forward + row.backward + row.own,
    }
    if allocated:
        found["allocated"] = allocated.get(name, 0) + allocated.get(f"{name} backward", 0)
    return found


def _layer(row: Row, allocated: dict[str, int], name: str) -> dict[str, Any]:
    found = {
        "calls": row.calls,
        "forward": row.forward,
        "self_forward": row.self_forward,
        "backward": row.backward,
        "total": row.self_forward + row.backward,
    }
    if allocated:
        found["allocated"] = allocated.get(f"layer {name}", 0)
    return found


def _line(file: str, line: int) -> dict[str, Any]:
    return {
        "name": f"{shown(file)}:{line}",
        "file": file,
        "line": line,
        "source": linecache.getline(file, line).strip(),
    }


def hints(report: dict[str, Any]) -> list[str]:
    """What would make the program faster, with figures; at most three."""
    found = []
    parts, step, hooked = report["parts"], report["step"], report["hooked_step"]
    if step and hooked and hooked["median"] > 2 * step["median"]:
        found.append("the functions are so short that timing them takes longer than they do: compare the rows by calls")
    whole = sum(parts.values())
    if parts and parts["data"] > max(0.25 * whole, 1e-3):
        found.append(
            f"data takes {parts['data'] * 1e3:.3g} ms of a step: prepare batches in other processes, or ahead of time"
        )
    cores = os.cpu_count() or 1
    if report["threads"] == 1 and cores > 1 and step and step["median"] > 0.01:
        found.append(f"torch uses one thread, and there are {cores} cores (OMP_NUM_THREADS, torch.set_num_threads)")
    if parts and parts["other"] > max(0.25 * whole, 1e-3):
        found.append(
            f"{parts['other'] * 1e3:.3g} ms of a step are neither forward, backward, update nor data, but logging, "
            "metrics or copies of results; --by line shows some of it"
        )
    return found[:3]


# ---- text ------------------------------------------------------------------------------------------------------------


def milliseconds(step: dict[str, Any] | None) -> str:
    if step is None:
        return "not measured"
    return f"{step['median'] * 1e3:.4g} ms ({step['q1'] * 1e3:.4g}–{step['q3'] * 1e3:.4g})"


def count_threads(n: int | str) -> str:
    return f"{n} {'thread' if str(n) == '1' else 'threads'}"


def parts_text(parts: dict[str, float]) -> str:
    whole = sum(parts.values()) or 1.0
    return ", ".join(f"{name} {100 * parts[name] / whole:.0f} %" for name in PHASES if name in parts)


def size(n: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if abs(n) < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.2f} GiB"


def text(report: dict[str, Any], by: str, sort: str, limit: int, memory: bool) -> str:
    """The report for people."""
    step = report["step"]
    lines = [
        f"compatgrad profile: {' '.join(report['program'])}",
        f"{report['device']}, {count_threads(report['threads'])}; "
        + ", ".join(f"{k} {v}" for k, v in report["versions"].items()),
        "",
    ]
    if step:
        steps = (
            f"{count(step['count'], 'step')}, which {agreeing(step['count'], 'ends', 'end')} with {report['ends_with']}"
        )
        what = "processor time of a step" if report["clock"] == "cpu" else "step"
        quartiles = f"{step['q1'] * 1e3:.4g}–{step['q3'] * 1e3:.4g} IQR"
        lines.append(f"{what} {step['median'] * 1e3:.4g} ms median ({quartiles}, {steps})")
    if report["parts"]:
        lines.append(f"  {parts_text(report['parts'])}")
    hooked = report["hooked_step"]
    if step and hooked:
        more = hooked["median"] / step["median"] - 1
        lines.append(f"  with the hooks that time functions: {hooked['median'] * 1e3:.4g} ms ({more:+.0%})")
    lines += [*_against(report), *of_processes(report)]
    if hooked:
        lines += ["", *table(report, by, sort, limit)]
    else:
        fewer = f"--warmup 1 --steps {max(1, (report['seen'] - 1) // 3)}"
        seen = count(report["seen"], "step")
        lines += ["", f"The program ended after {seen}, before its functions could be timed: try {fewer}"]
    for found in report["memory"] if memory else ():
        where = f", in {found['peak_in']}" if found["peak_in"] else ""
        at = found["peak_at"] / found["step"] if found["step"] else 0
        lines += [
            "",
            f"memory on {found['device']}: at most {size(found['peak'])} more than at the beginning of the step, "
            f"{at:.0%} into it{where}",
        ]
    lines += [f"hint: {hint}" for hint in report["hints"]]
    if report["trace"]:
        lines.append(f"trace: {report['trace']}, for https://ui.perfetto.dev")
    return "\n".join(lines)


def of_processes(report: dict[str, Any]) -> list[str]:
    """A line for each process of a merged report."""
    rows = [["process", "step (median, IQR)"]]
    for process in report.get("processes", ()):
        rows.append([process["file"], f"{milliseconds(process['step'])}: {parts_text(process['parts'])}"])
    return ["", *aligned(rows)] if len(rows) > 1 else []


def _against(report: dict[str, Any]) -> list[str]:
    original = report["original"]
    if original is None:
        return []
    versions = ", ".join(f"{k} {v}" for k, v in original["versions"].items())
    rows = [["", "original", "compatgrad", "ratio"]]
    own, theirs = report["step"], original["step"]
    rows.append(["step (median, IQR)", milliseconds(theirs), milliseconds(own), f"{report.get('ratio', 0):.2f}"])
    for name in PHASES if report["parts"] and original["parts"] else ():
        a, b = original["parts"][name], report["parts"][name]
        rows.append([f"  {name}", f"{a * 1e3:.4g} ms", f"{b * 1e3:.4g} ms", f"{b / a:.2f}" if a > 1e-6 else ""])
    found = ["", f"against {original['interpreter']}: {versions}; {count_threads(original['threads'])}"]
    return found + [f"  {line}" for line in aligned(rows)]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns next to each other: the first one flush left, numbers flush right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    found = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        found.append("  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip())
    return found


def ordered(rows: Iterable[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    keys = {"time": "total", "memory": "allocated"}
    if sort == "name":
        return sorted(rows, key=lambda row: str(row["name"]))
    return sorted(rows, key=lambda row: -float(row.get(keys.get(sort, sort), 0)))


def table(report: dict[str, Any], by: str, sort: str, limit: int) -> list[str]:
    """The rows of functions, layers or lines."""
    rows = ordered(report[_BY[by]], sort)
    whole = report["table_of"]
    with_memory = bool(rows) and "allocated" in rows[0]
    head = {"op": "function", "layer": "layer", "line": "line"}[by]
    third = "own" if by == "layer" else "other"
    columns = [head, "calls", "forward ms", f"{third} ms", "backward ms", "% of step"] + ["allocated"] * with_memory
    cells = [columns]
    for row in rows[:limit]:
        name = row["name"] if by != "line" else f"{row['name']}  {_cut(row['source'], 50)}"
        times = (row["forward"], row["self_forward" if by == "layer" else "other"], row["backward"])
        cells.append(
            [_cut(name, 90), f"{row['calls']:.4g}", *(f"{t * 1e3:.3f}" if t else "" for t in times)]
            + [f"{100 * row['total'] / whole:.1f}"]
            + ([size(row["allocated"])] if with_memory else [])
        )
    rest = max(whole - sum(row["total"] for row in rows), 0.0)
    cells.append(["everything else", "", "", "", "", f"{100 * rest / whole:.1f}"] + [""] * with_memory)
    found = aligned(cells)
    if len(rows) > limit:
        others = sum(row["total"] for row in rows[limit:])
        found.insert(-1, f"… {len(rows) - limit} more with {100 * others / whole:.1f} % (--limit {len(rows)})")
    return found


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
