"""Says what a comparison found: as text, JSON or one HTML file."""

from __future__ import annotations

import html
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compatgrad
from compatgrad.tools._words import agreeing, count
from compatgrad.tools.verify import details
from compatgrad.tools.verify.findings import Comparison, Finding
from compatgrad.tools.verify.recording import Event, Recording

SCHEMA = 1
_NAMES = {"chainer": "Chainer", "nnabla": "nnabla", "mxnet": "MXNet"}
_PHASES = ("forward", "backward", "gradient", "update")
OK, DIVERGED, STRUCTURE = 0, 1, 3


@dataclass
class Result:
    """A comparison of two recordings, and what a second run with whole arrays added."""

    original: Recording
    here: Recording
    comparison: Comparison
    text_of_arrays: str = ""
    exact: float | None = None
    reproducer: Path | None = None

    @property
    def missing(self) -> list[tuple[str, Event]]:
        """Gradients, updates and steps that only one side has, up to the step of the first finding."""
        until = self.comparison.findings[0].step if self.comparison.findings else self.comparison.until
        single = [(side, e) for side, e in self.comparison.single if until is None or e["s"] <= until]
        return [(side, e) for side, e in single if e["k"] in ("gradient", "update", "step")]

    @property
    def frameworks(self) -> list[str]:
        return list(self.original.meta["frameworks"])

    @property
    def helpers(self) -> list[tuple[str, Event]]:
        return [(side, e) for side, e in self.comparison.single if e["k"] == "forward"]

    @property
    def few(self) -> bool:
        """Whether so few functions could be paired that agreement says little."""
        if self.comparison.counts.get("gradient") or self.comparison.counts.get("backward"):
            return False
        total = sum(e["k"] == "forward" for e in self.original.events)
        alone = sum(side == "original" for side, _ in self.helpers)
        return bool(alone > 0.5 * total)

    @property
    def status(self) -> int:
        if self.comparison.findings:
            return DIVERGED
        return STRUCTURE if self.missing or self.few or self.ended else OK

    @property
    def ended(self) -> str:
        """How the runs ended differently, if they did."""
        ends = self.original.meta["ended"], self.here.meta["ended"]
        steps = self.original.steps, self.here.steps
        if ends[0].partition(":")[0] != ends[1].partition(":")[0]:
            there, here = (f"{end} after {count(n, 'update')}" for end, n in zip(ends, steps, strict=True))
            return f"original: {there}; here: {here}"
        if steps[0] != steps[1]:
            there, here = count(steps[0], "update"), agreeing(steps[1], "was", "were")
            return f"the original made {there}, and here there {here} {steps[1]}"
        return ""


def failure(result: Result) -> str:
    """How both runs failed, if they failed alike; else empty."""
    here, step = result.here.meta["ended"], result.here.steps
    kind = here.partition(":")[0]
    failed = re.fullmatch(r"(\w+(Error|Exception|Interrupt|StopIteration)|exit .+|killed)", kind)
    return f"Both runs failed after {count(step, 'update')}: {here}" if failed and not result.ended else ""


def place_of(event: Event) -> str:
    """A function in words: its name, its layer, the program's line."""
    text = str(event["n"])
    if event.get("p") and event["p"] != "/":
        text += f" in {event['p']}"
    return text + (f", {event['l']}" if event.get("l") else "")


def headline(finding: Finding, original: Recording) -> str:
    """Where the sides first differ, in one line."""
    event, step = finding.original, f"step {finding.step}"
    source = original.events[event["of"]] if event.get("of", -1) >= 0 else event
    what = place_of(source if event["k"] == "backward" else event)
    if finding.kind == "batch":
        return f"{step}, data: input {finding.slot} of {what}"
    if finding.kind == "initial":
        return (
            f"{step}, initial weights: {event['n'] if event['k'] == 'initial' else f'input {finding.slot} of {what}'}"
        )
    if finding.kind == "parameter":
        return f"{step}, parameters: input {finding.slot} of {what}"
    if finding.kind == "random":
        return f"{step}, random numbers: they differ first in {what}"
    if event["k"] == "backward":
        return f"{step}, backward: {' or '.join(place_of(e) for e in finding.culprits[:3]) or 'before ' + what}"
    if event["k"] == "gradient":
        return f"{step}, backward: the gradient of {event['n']}"
    if event["k"] == "update":
        return f"{step}, update: {event['n']}"
    return f"{step}, {event['k']}: {what}"


def explanation(finding: Finding) -> list[str]:
    """Sentences about a finding."""
    d, event = finding.distance, finding.original
    which = {"i": "input", "o": "result"}[finding.place]
    if event["k"] == "backward":
        which = "gradient of result" if finding.place == "i" else "gradient of input"
        first = f"{which} {finding.slot} of {event['n']} is the first value outside what rounding allows"
    elif event["k"] == "forward":
        first = f"{which} {finding.slot} is the first value outside what rounding allows"
    else:
        first = "the first value outside what rounding allows"
    lines = [f"{first}: {event_shape(finding)}"]
    if finding.why:
        lines.append(finding.why)
    if not d.why:
        lines.append(f"relative error {d.relative:.1e} (root mean square); allowed {details.allowance(finding)}")
    if finding.kind == "batch":
        lines.append("the program gave other data to this function; nothing before it differs")
    elif finding.kind == "parameter":
        lines.append("the parameter agreed after its last update, and something has changed it since, on one side")
    elif finding.kind == "initial":
        lines.append("the initial values differ; nothing before them does")
    elif finding.kind == "random":
        lines.append("its inputs agreed; other random numbers were drawn, or the same ones in another order")
    elif finding.through:
        names = ", ".join(dict.fromkeys(place_of(e) for e in reversed(finding.through)))
        lines.append(f"its inputs come from functions that both sides do not call alike, and may differ: {names}")
    elif finding.agreed:
        what = {"update": "the optimizer or one of its hooks", "gradient": "the backward pass"}.get(finding.kind, "")
        what = what or ("the backward of this function" if event["k"] == "backward" else "this function")
        lines.append(f"the inputs agreed (largest error {finding.came_in:.1e}): {what} differs")
    else:
        grown = d.relative / finding.came_in if finding.came_in and math.isfinite(d.relative) else math.inf
        lines.append(f"the inputs had drifted already by {finding.came_in:.1e}; here the error grew {grown:.3g} times")
    if event["k"] == "gradient" and finding.culprits:
        users = ", ".join(dict.fromkeys(place_of(e) for e in finding.culprits))
        lines.append(f"the parameter is read by {users}")
    return lines


def event_shape(finding: Finding) -> str:
    described = finding.original[finding.place][finding.slot]
    return f"{described[0]}{described[1]}"


def deviations(name: str, frameworks: Iterable[str]) -> list[str]:
    """The rows of docs/deviations.md that name a function, where the documents are: what deviates, and how."""
    path = Path(compatgrad.__file__).parents[1] / "docs" / "deviations.md"
    word = re.compile(rf"(?<![A-Za-z_]){re.escape(name)}(?![A-Za-z_])", re.IGNORECASE)
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return []
    found, section = [], ""
    for line in lines:
        section = line.lower() if line.startswith("#") else section
        if line.startswith("|") and word.search(line) and any(f in section for f in frameworks):
            found.append(": ".join(cell.strip() for cell in re.sub("<!--.*?-->", "", line).split("|")[1:4:2]))
    return found[:3]


def _side(recording: Recording) -> str:
    names = [f"{_NAMES.get(n, n)} {v}" for n, v in recording.meta["frameworks"].items()] or ["no framework"]
    return f"{', '.join(names)} (Python {recording.meta['python']}, NumPy {recording.meta['numpy']})"


def _table(comparison: Comparison) -> list[str]:
    rows: list[tuple[str, ...]] = [("step", *_PHASES)]
    steps = sorted(comparison.worst)
    shown = steps if len(steps) <= 8 else [*steps[:5], *steps[-2:]]
    before = None
    for step in shown:
        if before is not None and step - before > 1:
            rows.append(("...", *[""] * len(_PHASES)))
        before = step
        worst = comparison.worst[step]
        rows.append((str(step), *[f"{worst[p]:.1e}" if p in worst else "" for p in _PHASES]))
    return ["largest relative error", *(f"  {r[0]:>5}" + "".join(f"{c:>11}" for c in r[1:]) for r in rows)]


def text(result: Result, color: bool = False) -> str:
    """The report for people."""
    comparison, findings = result.comparison, result.comparison.findings

    def in_color(name: str, words: str) -> str:
        return f"\033[{31 if name == 'red' else 32}m{words}\033[0m" if color else words

    lines = [
        f"original: {_side(result.original)}",
        f"here:     {_side(result.here)}, compatgrad {compatgrad.__version__}",
    ]
    lines += [f"note: {note}" for note in dict.fromkeys([*result.original.meta["notes"], *result.here.meta["notes"]])]
    counts = comparison.counts
    lines.append(
        f"compared: {count(len(comparison.worst), 'step')}, {count(counts.get('initial', 0), 'initial weight')}, "
        f"{count(counts.get('forward', 0), 'function')} forward, {counts.get('backward', 0):,} backward, "
        f"{count(counts.get('gradient', 0), 'gradient')}, {count(counts.get('update', 0), 'updated parameter')}"
    )
    if comparison.worst:
        lines += ["", *_table(comparison)]
    lines.append("")
    lines += [in_color("red", failure(result))] if failure(result) else []
    for number, finding in enumerate(findings):
        lines.append(
            in_color("red", ("first divergence: " if not number else "then: ") + headline(finding, result.original))
        )
        lines += [f"  {line}" for line in explanation(finding)]
        if not number:
            if result.text_of_arrays:
                lines.append(details.indented(result.text_of_arrays))
            if result.exact is not None:
                lines.append(f"  exact relative error {result.exact:.3e} (root mean square)")
            if result.reproducer:
                lines.append(f"  reproducer: {result.reproducer}")
            lines += [f"  docs/deviations.md: {row}" for row in deviations(finding.original["n"], result.frameworks)]
    if not findings and comparison.until:
        lines.append(
            f"The runs agree, up to step {comparison.until}: there rounding errors have grown to more than 5 % of the "
            "parameters, and later steps are not compared. No function made the error jump."
        )
    elif not findings and result.status == OK:
        lines.append(in_color("green", "The runs agree: no value is further apart than rounding allows."))
    elif not findings and not comparison.worst:
        lines.append(in_color("red", "Nothing could be compared."))
    elif not findings:
        lines.append(in_color("red", "The structure differs; what both sides have agrees."))
    if comparison.crossed:
        lines.append(
            f"{count(comparison.crossed, 'array')} {agreeing(comparison.crossed, 'differs', 'differ')} in single "
            "elements only, which rounding has put on two sides of a "
            "threshold, as the 0 of ReLU."
        )
    elif doubtful := len(comparison.doubtful):
        first = headline(comparison.doubtful[0], result.original)
        arrays = f"{count(doubtful, 'array')} {agreeing(doubtful, 'differs', 'differ')}"
        lines.append(
            f"{arrays} as if single elements were on two sides of a threshold (first: {first}); verify would look at "
            f"{agreeing(doubtful, 'it', 'them')}."
        )
    lines += _structure(result)
    lines += [f"note: {note}" for note in comparison.notes]
    return "\n".join(lines)


def comparable(result: Result) -> bool:
    """Whether both sides computed something."""
    return bool(result.original.events) and bool(result.here.events)


def _structure(result: Result) -> list[str]:
    lines = [result.ended] if result.ended else []
    for side, event in result.missing[: 5 if comparable(result) else 0]:
        where = "in the original" if side == "original" else "here"
        lines.append(f"only {where}: {event['k']} {event['n']} of step {event['s']}")
    if not comparable(result):
        return lines
    names = Counter((side, place_of({**e, "l": ""})) for side, e in result.helpers)
    if names:
        total = sum(names.values())
        lines.append(
            f"{count(total, 'call')} of functions {agreeing(total, 'is', 'are')} on one side only; "
            f"{agreeing(total, 'its result was compared where it was', 'their results were compared where they were')} "
            "used:"
        )
        for (side, name), calls in names.most_common(4):
            lines.append(f"  {'original' if side == 'original' else 'here    '}  {calls} x {name}")
        if len(names) > 4:
            lines.append(f"  and {count(len(names) - 4, 'more kind')}")
    return lines


def data(result: Result) -> dict[str, Any]:
    """The report for programs."""

    def number(value: float) -> float | str:
        return value if math.isfinite(value) else str(value)

    def of(finding: Finding) -> dict[str, Any]:
        event = finding.original
        source = result.original.events[event["of"]] if event.get("of", -1) >= 0 else event
        return {
            "kind": finding.kind,
            "phase": event["k"],
            "step": finding.step,
            "function": event["n"],
            "layer": source.get("p", ""),
            "line": source.get("l", ""),
            "place": {"i": "input", "o": "result"}[finding.place],
            "number": finding.slot,
            "shape": event[finding.place][finding.slot][1],
            "dtype": event[finding.place][finding.slot][0],
            "relative_error": number(finding.distance.relative),
            "allowed": number(finding.allowed),
            "error_of_inputs": number(finding.came_in),
            "inputs_agreed": finding.agreed,
            "culprits": [
                {"function": e["n"], "layer": e.get("p", ""), "line": e.get("l", "")} for e in finding.culprits
            ],
            "headline": headline(finding, result.original),
            "explanation": explanation(finding),
            "deviations": deviations(event["n"], result.frameworks),
        }

    comparison = result.comparison
    return {
        "schema": SCHEMA,
        "compatgrad": compatgrad.__version__,
        "command": sys.argv[1:],
        "status": result.status,
        "original": result.original.meta,
        "here": result.here.meta,
        "compared": comparison.counts,
        "worst": {str(s): {k: number(v) for k, v in w.items()} for s, w in comparison.worst.items()},
        "layers": {name: {"compared": n, "largest_error": number(e)} for name, (n, e) in comparison.layers.items()},
        "findings": [of(f) for f in comparison.findings],
        "arrays": result.text_of_arrays,
        "reproducer": str(result.reproducer) if result.reproducer else None,
        "only_on_one_side": [
            {"side": s, "phase": e["k"], "name": e["n"], "step": e["s"]} for s, e in comparison.single
        ],
        "ended_differently": result.ended,
        "both_failed": failure(result),
        "comparable_until": comparison.until,
        "random_draws_differ_from_step": comparison.draws,
        "notes": comparison.notes,
    }


def page(result: Result) -> str:
    """The report as one HTML file: the text, and a table of the layers."""
    rows = []
    for name, (functions, error) in sorted(result.comparison.layers.items()):
        level = "fail" if error > 1e-3 else "warn" if error > 2e-5 else "pass"
        rows.append(f"<tr class={level}><td>{html.escape(name)}<td>{functions}<td>{error:.1e}")
    style = "body{font-family:sans-serif} td,th{padding:2px 12px;text-align:left} .warn{background:#fec}"
    style += " .fail{background:#fbb}"
    return (
        f"<!doctype html><meta charset=utf-8><title>compatgrad verify</title><style>{style}</style>"
        f"<pre>{html.escape(text(result))}</pre><table><tr><th>function or parameter<th>compared"
        f"<th>largest relative error{''.join(rows)}</table>\n"
    )


def shown(result: Result, form: str) -> str:
    if form == "json":
        return json.dumps(data(result), indent=1, sort_keys=True, default=str)
    return page(result) if form == "html" else text(result)
