"""Draws the tables of docs/benchmarks.md as bars (`make figures`)."""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.docs.site import pages

PICTURES = pages.ROOT / "docs/pictures"
_WORKLOADS = {
    "chain fb": "small operations",
    "chain dbl": "2nd derivatives of these",
    "mlp_tiny": "small MLP",
    "mlp_mnist": "large MLP",
    "cnn": "convolutions",
    "lstm_lm": "LSTM",
    "wgan_gp": "gradient penalty",
}
# which row of the tables is a workload of which frontend
_ROWS = {
    "Chainer": {"chain fb": "chain fb, Chainer program", "chain dbl": "chain dbl, Chainer program"},
    "nnabla": {name: f"{name}, static" for name in _WORKLOADS},
    "MXNet": {},
}
_COLOURS = {"Chainer": "#0072b2", "nnabla": "#e69f00", "MXNet": "#009e73"}


class Bar(NamedTuple):
    """A bar: its frontend, and a ratio of times; None where there is nothing to compare with."""

    frontend: str
    ratio: float | None


def tables() -> dict[str, list[dict[str, str]]]:
    """The rows of the tables of workloads, by the frontend that their heads name."""
    found: dict[str, list[dict[str, str]]] = {}
    head: list[str] = []
    frontend = None
    for line in (pages.ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if cells and cells[0] == "workload":
            head = cells
            frontend = next(name for name in _ROWS if name in head)
        elif cells and frontend and not set(line) <= set("|- :"):
            found.setdefault(frontend, []).append(dict(zip(head, cells, strict=True)))
        elif not cells:
            frontend = None
    return found


def bars(column: str, invert: bool) -> dict[str, list[Bar]]:
    """For each workload, a bar for each frontend: the number in the column that begins with `column`, or 1 over it."""
    rows = tables()
    found: dict[str, list[Bar]] = {}
    for workload, shown in _WORKLOADS.items():
        for frontend, names in _ROWS.items():
            row = next(r for r in rows[frontend] if r["workload"] == names.get(workload, workload))
            text = next(value for name, value in row.items() if name.startswith(column))
            number = re.match(r"[\d.]+$", text)
            ratio = None if number is None else 1 / float(text) if invert else float(text)
            found.setdefault(shown, []).append(Bar(frontend, ratio))
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
    size = f'width="600" height="{y + 14}" viewBox="0 0 600 {y + 14}"'
    body = "\n".join([*legend, *parts, line, mark])
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" {size} '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def plots() -> dict[str, str]:
    """All plots, by the name of their file."""
    return {
        "speed-original.svg": draw("Time of a step, divided by the original's", bars("× faster", invert=True)),
        "speed-torch.svg": draw("Time of a step, divided by that of a PyTorch program", bars("× torch", invert=False)),
    }


if __name__ == "__main__":
    for name, text in plots().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
        print(PICTURES / name)
