"""Draws the figures of docs/benchmarks.md (`make figures`): recorded runs as bars and curves."""

from __future__ import annotations

import json
import math
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.benchmarks import tables as figures
from tests.docs.site import pages

PICTURES = pages.ROOT / "docs/pictures"
_RECORDED = pages.ROOT / "tests/benchmarks/curves.json"
_WORKLOADS = {
    "chain fb": "small operations",
    "chain dbl": "2nd derivatives of these",
    "mlp_tiny": "small MLP",
    "mlp_mnist": "large MLP",
    "cnn": "convolutions",
    "lstm_lm": "LSTM",
    "wgan_gp": "gradient penalty",
}
_PROGRAMS = {"Chainer": "compatgrad", "nnabla": "nn static", "MXNet": "mx"}
# what the curves of a recorded run are called
_CURVES = {
    "native": "compatgrad, native API",
    "compatgrad": "compatgrad, Chainer",
    "torch": "PyTorch",
    "Chainer": "Chainer",
}
_CURVE_COLOURS = {
    "compatgrad, native API": "#009e73",
    "compatgrad, Chainer": "#0072b2",
    "PyTorch": "#d55e00",
    "Chainer": "#555555",
}
_COLOURS = {"Chainer": "#0072b2", "nnabla": "#e69f00", "MXNet": "#009e73"}


class Bar(NamedTuple):
    """A bar: its frontend, and a ratio of times; None where there is nothing to compare with."""

    frontend: str
    ratio: float | None


def bars(against: str | None = None) -> dict[str, list[Bar]]:
    """For each workload, a bar for each frontend: compatgrad's time over that of another program, or the original's."""
    rows = {row[:3]: recorded for row, recorded in figures.load()[0].items() if row[3:] in (("ms", 1), ("us/op", 1))}
    found: dict[str, list[Bar]] = {}
    for workload, shown in _WORKLOADS.items():
        for frontend, program in _PROGRAMS.items():
            row = rows.get((workload, program, against or figures.ORIGINALS[program]))
            found.setdefault(shown, []).append(Bar(frontend, row["ratio"] if row else None))
    return found


def draw(title: str, groups: dict[str, list[Bar]]) -> str:
    """The bars as SVG; a line marks the ratio 1."""
    left, unit, height, gap = 165, 350, 13, 12
    y = 62
    parts = []
    for shown, group in groups.items():
        middle = y + len(group) * height / 2 + 4
        parts.append(f'<text x="{left - 8}" y="{middle:.0f}" text-anchor="end">{escape(shown)}</text>')
        for bar in group:
            width = (bar.ratio or 0) * unit
            label = f"{bar.frontend} itself cannot" if bar.ratio is None else f"{bar.ratio:.2g}"
            parts.append(
                f'<rect x="{left}" y="{y}" width="{width:.1f}" height="{height - 2}" fill="{_COLOURS[bar.frontend]}"/>'
                f'<text x="{left + width + 4:.1f}" y="{y + 10}" font-size="10">{label}</text>'
            )
            y += height
        y += gap
    legend = []
    for i, (frontend, colour) in enumerate(_COLOURS.items()):
        x = left + i * 110
        legend.append(f'<rect x="{x}" y="32" width="11" height="11" fill="{colour}"/>')
        legend.append(f'<text x="{x + 16}" y="42">{frontend}</text>')
    one = left + unit
    line = f'<path d="M{one},54 V{y - gap + 4}" stroke="#555555" stroke-dasharray="4 3"/>'
    mark = f'<text x="{one}" y="{y + 4}" text-anchor="middle" font-size="10">1: as fast</text>'
    return _svg(title, 600, y + 14, [*legend, *parts, line, mark])


def curves(word: str) -> dict[str, dict[int, float]]:
    """For each program, its time by the number in the workloads `WORD NUMBER` of the recorded run.

    docs/benchmarks.md says how the run is recorded.
    """
    found: dict[str, dict[int, float]] = {}
    for row in json.loads(_RECORDED.read_text(encoding="utf-8"))["rows"]:
        name, _, number = row["workload"].partition(" ")
        if name == word:
            for framework, time in ((row["framework"], row["value"]), (row["against"], row["other"])):
                found.setdefault(_CURVES[framework], {})[int(number)] = time
    return found


def draw_curves(title: str, below: str, lines: dict[str, dict[int, float]]) -> str:
    """The curves as SVG: times on a logarithmic scale, numbers at equal distances."""
    left, top, width, height = 62, 40, 370, 250
    numbers = sorted({number for line in lines.values() for number in line})
    times = [time for line in lines.values() for time in line.values()]
    first, last = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def place(number: int, time: float) -> tuple[float, float]:
        x = left + 20 + numbers.index(number) * (width - 40) / (len(numbers) - 1)
        return x, top + height * (last - math.log10(time)) / (last - first)

    parts = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999999"/>']
    for power in range(first, last + 1):
        y = place(numbers[0], 10.0**power)[1]
        parts.append(f'<path d="M{left},{y:.1f} h{width}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>')
    for number in numbers:
        x = place(number, 10.0**first)[0]
        parts.append(f'<text x="{x:.1f}" y="{top + height + 17}" text-anchor="middle">{number}</text>')
    # the names stand at the ends of the curves, at least 15 apart
    free = top + 4.0
    for name, line in sorted(lines.items(), key=lambda item: -item[1][numbers[-1]]):
        points = [place(number, line[number]) for number in numbers if number in line]
        colour = _CURVE_COLOURS[name]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        free = max(free, points[-1][1] + 4)
        parts.append(f'<text x="{left + width + 8}" y="{free:.1f}" fill="{colour}">{escape(name)}</text>')
        free += 15
    middle = left + width / 2
    parts.append(f'<text x="{middle}" y="{top + height + 36}" text-anchor="middle">{escape(below)}</text>')
    return _svg(title, 600, top + height + 48, parts)


def _svg(title: str, width: int, height: float, parts: list[str]) -> str:
    body = "\n".join(parts)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" {size} '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def plots() -> dict[str, str]:
    """All plots, by the name of their file."""
    order = "order of the derivative, of 10 operations on 10 numbers"
    size = "images in a batch, for a step of a perceptron of 784, 1000, 1000 and 10 units"
    return {
        "orders.svg": draw_curves("Microseconds for a derivative, by its order", order, curves("order")),
        "batches.svg": draw_curves("Milliseconds for a training step, by the size of the batch", size, curves("batch")),
        "speed-original.svg": draw("Time of a step, divided by the original's", bars()),
        "speed-torch.svg": draw("Time of a step, divided by that of a PyTorch program", bars("torch")),
    }


if __name__ == "__main__":
    for name, text in plots().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
        print(PICTURES / name)
