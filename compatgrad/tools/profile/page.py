"""The report as one HTML page, which contains its style and pictures, and neither scripts nor links to other files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from compatgrad.tools._words import agreeing, count
from compatgrad.tools.compatgrad_recorder._steps import PHASES

from .report import count_threads, milliseconds, ordered, size

_ROWS = 40
_STYLE = """
:root { color-scheme: light dark; --text: #1c1c1e; --soft: #5f6368; --line: #d9dbe0; --back: #ffffff; --card: #f5f6f8;
  --forward: #2f6fde; --backward: #d9622b; --update: #2a9d6f; --data: #8a5fd0; --other: #9aa0a6; }
@media (prefers-color-scheme: dark) { :root { --text: #ececf1; --soft: #a5a9b3; --line: #3a3d45; --back: #17181c;
  --card: #212329; --forward: #6ea2ff; --backward: #ff9463; --update: #56c596; --data: #b592f5; --other: #83888f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1080px; padding: 16px; background: var(--back); color: var(--text);
  font: 16px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.35rem; margin: .3em 0; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 1.8em 0 .5em; }
p { margin: .4em 0; } .soft { color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; }
.figures { display: flex; flex-wrap: wrap; gap: 10px; margin: 14px 0; }
.figure { background: var(--card); border-radius: 8px; padding: 10px 14px; min-width: 130px; flex: 1 1 130px; }
.figure b { display: block; font-size: 1.3rem; }
.figure span { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
.bar { display: flex; height: 26px; border-radius: 5px; overflow: hidden; background: var(--card); }
.bar i { display: block; height: 100%; } .bar i + i { border-left: 1px solid var(--back); }
.forward { background: var(--forward); } .backward { background: var(--backward); }
.update { background: var(--update); } .data { background: var(--data); } .other { background: var(--other); }
.key { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 6px 0 12px; font-size: .9rem; }
.key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em; }
.layers { display: grid; grid-template-columns: minmax(90px, 330px) 1fr 84px; gap: 5px 10px; align-items: center; }
.layers .name { font: .85rem ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.layers .bar { height: 18px; background: none; }
.layers .ms { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: right; padding: 5px 8px; border-bottom: 1px solid var(--line); white-space: nowrap;
  font-variant-numeric: tabular-nums; } th { color: var(--soft); font-weight: 600; }
th:first-child, td:first-child { text-align: left; font-family: ui-monospace, Menlo, Consolas, monospace; }
td small { color: var(--soft); } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; } svg .curve { fill: none; stroke: var(--text); stroke-width: 1.5; }
svg .axis { stroke: var(--line); } svg .band { opacity: .18; }
svg .band.forward, svg .swatch.forward { fill: var(--forward); } svg .band.backward { fill: var(--backward); }
svg .band.update { fill: var(--update); } svg .band.data { fill: var(--data); } svg .peak { fill: var(--text); }
@media (max-width: 600px) { body { padding: 10px; } .layers { grid-template-columns: 1fr 84px; gap: 1px 8px; }
  .layers .name { grid-column: 1 / 3; margin-top: 6px; } svg text { font-size: 22px; } }
"""


def page(report: dict[str, Any]) -> str:
    program = " ".join(report["program"])
    versions = ", ".join(f"{k} {v}" for k, v in report["versions"].items())
    threads = count_threads(report["threads"])
    body = [
        f"<h1>Profile of {escape(program)}</h1>",
        f'<p class="soft">{escape(report["device"])}, {threads}; {escape(versions)}</p>',
        _figures(report),
        *_parts(report),
        *_original(report),
        *_layers(report),
        *_memory(report),
        *_table("Functions", "function", report["functions"], report),
        *_table("Lines of the program", "line", report["lines"], report),
        *(f"<p>Hint: {escape(hint)}.</p>" for hint in report["hints"]),
        f'<p class="soft">{_note(report)}</p>',
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Profile of {escape(program)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _figures(report: dict[str, Any]) -> str:
    step = report["step"]
    figures = []
    if step:
        what = "median processor time of a step" if report["clock"] == "cpu" else "median step"
        figures.append((_ms(step["median"]), f"{what}; half between {_ms(step['q1'])} and {_ms(step['q3'])}"))
        figures.append((f"{step['count']}", f"steps, which end with {report['ends_with']}"))
    if "ratio" in report:
        figures.append((f"{1 / report['ratio']:.2f} ×", "as fast as the original"))
    for memory in report["memory"][:1]:
        figures.append((size(memory["peak"]), f"peak above the step's beginning, on {memory['device']}"))
    cards = (f'<div class="figure"><b>{escape(a)}</b><span>{escape(b)}</span></div>' for a, b in figures)
    return f'<div class="figures">{"".join(cards)}</div>'


def _bar(parts: Iterable[tuple[str, float]], whole: float) -> str:
    pieces = (f'<i class="{k}" style="width:{100 * v / whole:.2f}%"></i>' for k, v in parts if v > 0) if whole else ()
    return f'<div class="bar" aria-hidden="true">{"".join(pieces)}</div>'


def _key(items: Iterable[tuple[str, str]]) -> str:
    return f'<div class="key">{"".join(f"<span><i class={k!r}></i>{escape(v)}</span>" for k, v in items)}</div>'


def _parts(report: dict[str, Any]) -> list[str]:
    parts = report["parts"]
    whole = sum(parts.values())
    if not whole:
        return []
    words = [(name, f"{name} {_ms(parts[name])} ({100 * parts[name] / whole:.0f} %)") for name in PHASES]
    return ["<h2>A step</h2>", _bar(parts.items(), whole), _key(words)]


def _original(report: dict[str, Any]) -> list[str]:
    original = report["original"]
    if not original or not original["step"] or not report["step"]:
        return []
    sides = [("original", original), ("compatgrad", report)]
    longest = max(side["step"]["median"] for _, side in sides)
    found = ["<h2>Beside the original</h2>", '<div class="layers">']
    for name, side in sides:
        parts, whole = side["parts"] or {"other": 1.0}, sum(side["parts"].values()) or 1.0
        scale = side["step"]["median"] / longest
        bar = _bar(((k, v * scale) for k, v in parts.items()), whole)
        found += [f'<div class="name">{name}</div>', bar, f'<div class="ms">{_ms(side["step"]["median"])}</div>']
    versions = ", ".join(f"{k} {v}" for k, v in original["versions"].items())
    steps = f"{milliseconds(original['step'])} and {milliseconds(report['step'])}, medians and quartiles"
    about = f"{original['interpreter']}: {versions}; {count_threads(original['threads'])}. Steps: {steps}."
    return [*found, "</div>", f'<p class="soft">{escape(about)}</p>']


def _layers(report: dict[str, Any]) -> list[str]:
    rows = ordered(report["layers"], "time")
    rows, left = rows[:_ROWS], rows[_ROWS:]
    if not rows:
        return []
    longest = max(row["total"] for row in rows) or 1.0
    found = ["<h2>Time by layer</h2>", _key([("forward", "forward"), ("backward", "backward")]), '<div class="layers">']
    for row in rows:
        bar = _bar([("forward", row["self_forward"]), ("backward", row["backward"])], longest)
        name = escape(row["name"]).replace("/", "/<wbr>")
        found += [f'<div class="name">{name}</div>', bar, f'<div class="ms">{_ms(row["total"])}</div>']
    found.append("</div>")
    more, time = len(left), sum(row["total"] for row in left)
    rest = f" {count(more, 'more layer')} {agreeing(more, 'takes', 'take')} {_ms(time)}." if left else ""
    return [*found, f'<p class="soft">Without the layers inside.{rest}</p>']


def _memory(report: dict[str, Any]) -> list[str]:
    found = []
    for memory in report["memory"]:
        if len(memory["curve"]) > 1:
            found += [f"<h2>Memory over a step, {escape(memory['device'])}</h2>", _curve(memory)]
            peak = f"{size(memory['peak'])} at {_ms(memory['peak_at'])}" + (
                f", in {memory['peak_in']}" if memory["peak_in"] else ""
            )
            text = f"Above what was in use when the step began. Peak: {peak}. Measured while torch's profiler runs."
            found.append(f'<p class="soft">{escape(text)}</p>')
    return found


def _curve(memory: dict[str, Any]) -> str:
    width, height, left, top, bottom = 1000.0, 300.0, 0.0, 14.0, 34.0
    seconds = float(memory["step"]) or 1.0
    low, high = min(0, *(y for _, y in memory["curve"])), max(1, *(y for _, y in memory["curve"]))

    def x(t: float) -> float:
        return left + (width - left) * min(t / seconds, 1.0)

    def y(n: float) -> float:
        return top + (height - top - bottom) * float((high - n) / (high - low))

    bands = "".join(
        f'<rect class="band {kind}" x="{x(a):.1f}" y="{top}" width="{max(x(b) - x(a), 0.5):.1f}" '
        f'height="{height - top - bottom:.1f}"/>'
        for kind, a, b in memory["parts"]
    )
    points = [f"M{x(0):.1f} {y(0):.1f}"]
    for t, n in memory["curve"]:
        points.append(f"H{x(t):.1f}V{y(n):.1f}")
    points.append(f"H{x(seconds):.1f}")
    ticks = "".join(
        f'<line class="axis" x1="{left}" x2="{width}" y1="{y(n):.1f}" y2="{y(n):.1f}"/>'
        f'<text x="6" y="{y(n) + (22 if n == high else -6):.1f}">{size(n)}</text>'
        for n in sorted({low, 0, high})
    )
    times = "".join(
        f'<text x="{x(at):.1f}" y="{height - 10}" text-anchor="{anchor}">{_ms(at)}</text>'
        for at, anchor in ((0.0, "start"), (seconds / 2, "middle"), (seconds, "end"))
    )
    peak = f'<circle class="peak" cx="{x(memory["peak_at"]):.1f}" cy="{y(memory["peak"]):.1f}" r="4"/>'
    title = f"Memory over a step: from {size(low)} to {size(high)} above its beginning, within {_ms(seconds)}"
    svg = (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f'<title>{escape(title)}</title>{bands}{ticks}{times}<path class="curve" d="{"".join(points)}"/>{peak}</svg>'
    )
    kinds = dict.fromkeys(kind for kind, _, _ in memory["parts"])
    return svg + _key([(kind, kind) for kind in PHASES if kind in kinds])


def _table(title: str, head: str, rows: Sequence[dict[str, Any]], report: dict[str, Any]) -> list[str]:
    rows = ordered(rows, "time")
    whole = report["table_of"]
    if not rows or not whole:
        return []
    memory = "allocated" in rows[0]
    heads = [head, "calls", "forward ms", "other ms", "backward ms", "% of step", *(["allocated"] if memory else [])]
    found = [f"<h2>{title}</h2>", '<div class="wide"><table>']
    found.append("<thead><tr>" + "".join(f'<th scope="col">{h}</th>' for h in heads) + "</tr></thead><tbody>")
    for row in rows[:_ROWS]:
        name = escape(row["name"])
        if row.get("source"):
            name += f"<br><small>{escape(row['source'][:80])}</small>"
        times = (row["forward"], row["other"], row["backward"])
        cells = [name, f"{row['calls']:.4g}", *(f"{t * 1e3:.3f}" if t else "" for t in times)]
        cells.append(f"{100 * row['total'] / whole:.1f}")
        if memory:
            cells.append(size(row["allocated"]))
        found.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    if len(rows) > _ROWS:
        others = sum(row["total"] for row in rows[_ROWS:])
        found.append(
            f'<tr><td colspan="{len(heads)}">{len(rows) - _ROWS} more with {100 * others / whole:.1f} %</td></tr>'
        )
    return [*found, "</tbody></table></div>"]


def _note(report: dict[str, Any]) -> str:
    step, hooked = report["step"], report["hooked_step"]
    if not step or not hooked:
        return ""
    return (
        "The time of a step was measured without the profiler. Layers, functions and lines were timed in other steps, "
        f"which took {_ms(hooked['median'])} with the hooks that this needs."
    )
