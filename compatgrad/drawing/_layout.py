"""Layout of a graph's boxes, layer by layer, and the picture as SVG, without an external program or recursion."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from compatgrad.drawing.boxes import Box, Edge

# assumed sizes of letters, because the real widths are unknown
FONT_SIZE = 11
_LETTER, _LINE = 6.6, 14.0
_GAP, _LAYER_GAP = 14.0, 34.0
# An edge over many layers has one point per layer, to bend around the boxes in between. If there would be more points
# than this (one weight, thousands of steps), long edges are drawn straight.
_MOST_BENDS = 20_000


def svg_text(boxes: Sequence[Box], edges: Sequence[Edge], direction: str = "TB", caption: str = "") -> str:
    """The picture as SVG. `direction`: TB, LR, BT or RL, from the inputs to the results."""
    sizes = [_size(box) for box in boxes]
    across = direction in ("LR", "RL")
    spans = [(h, w) if across else (w, h) for w, h in sizes]
    layer = _layers(len(boxes), edges)
    rows, chains = _rows(layer, edges)
    spans += [(2.0, 0.0)] * (sum(map(len, rows)) - len(boxes))
    above, below = _neighbours(chains, len(spans))
    _untangle(rows, above, below)
    neighbours = [a + b for a, b in zip(above, below, strict=True)]
    along = _spread(rows, neighbours, [w for w, _ in spans], _pulls(len(spans), edges))
    depth, halves, bottom = _depths(rows, [h for _, h in spans])
    if direction in ("BT", "RL"):
        depth, halves = [bottom - at for at in depth], [-half for half in halves]
    points = list(zip(depth, along, strict=True) if across else zip(along, depth, strict=True))
    widest = max((x + w / 2 for x, (w, _) in zip(along, spans, strict=True)), default=0.0)
    width, height = (bottom, widest) if across else (widest, bottom)
    return _written(boxes, sizes, edges, chains, points, halves, (width, height), direction, caption)


def _size(box: Box) -> tuple[float, float]:
    w = _LETTER * max((len(line) for line in box.lines), default=0) + 12
    h = _LINE * max(len(box.lines), 1) + 8
    # the size of the ellipse through the corners of the text
    return (w * 1.35, h * 1.42) if box.oval else (w, h)


def _layers(n: int, edges: Sequence[Edge]) -> list[int]:
    """The layer of each box: the length of the longest path to it; a leaf is in the layer before its first user."""
    after: list[list[int]] = [[] for _ in range(n)]
    waits = [0] * n
    for e in edges:
        after[e.tail].append(e.head)
        waits[e.head] += 1
    layer = [0] * n
    fed = [count > 0 for count in waits]
    ready = [i for i in range(n) if not waits[i]]
    while ready:
        i = ready.pop()
        for j in after[i]:
            layer[j] = max(layer[j], layer[i] + 1)
            waits[j] -= 1
            if not waits[j]:
                ready.append(j)
    for i in range(n):
        if not fed[i] and after[i]:
            layer[i] = max(min(layer[j] for j in after[i]) - 1, 0)
    return layer


def _rows(layer: list[int], edges: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """The boxes of each layer, and the points of each edge: boxes at its ends, bends between them."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for i, k in enumerate(layer):
        rows[k].append(i)
    bends = sum(max(layer[e.head] - layer[e.tail] - 1, 0) for e in edges)
    chains = []
    fresh = len(layer)
    shared: dict[tuple[int, int], int] = {}  # edges of a leaf with many users share their bends as far as possible
    for e in edges:
        chain = [e.tail]
        if bends <= _MOST_BENDS:
            for k in range(layer[e.tail] + 1, layer[e.head]):
                bend = shared.setdefault((e.tail, k), fresh)
                if bend == fresh:
                    rows[k].append(bend)
                    fresh += 1
                chain.append(bend)
        chains.append([*chain, e.head])
    return rows, chains


def _neighbours(chains: list[list[int]], n: int) -> tuple[list[list[int]], list[list[int]]]:
    """For each box its neighbours in the row above and in the row below."""
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for chain in chains:
        for a, b in zip(chain, chain[1:], strict=False):
            below[a].append(b)
            above[b].append(a)
    return above, below


def _pulls(n: int, edges: Sequence[Edge]) -> list[float]:
    """The weight of each box's preferred position: low for leaves, so that a chain of functions is a straight line."""
    pulls = [1.0] * n
    for e in edges:
        pulls[e.head] = 1e4
    return pulls


def _untangle(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Orders each row by the positions of its neighbours in the previous row, a few times down and up, so that few
    edges cross."""
    place: dict[int, float] = {}
    for row in rows:
        place.update((i, k / len(row)) for k, i in enumerate(row))
    for sweep in range(6):
        down = sweep % 2 == 0
        neighbours = above if down else below
        for row in rows if down else reversed(rows):
            if len(row) == 1:
                continue
            mean = {
                i: sum(place[j] for j in neighbours[i]) / len(neighbours[i]) if neighbours[i] else place[i] for i in row
            }
            row.sort(key=mean.__getitem__)
            place.update((i, k / len(row)) for k, i in enumerate(row))


def _spread(rows: list[list[int]], neighbours: list[list[int]], widths: list[float], pulls: list[float]) -> list[float]:
    """The coordinates along the rows: near the weighted mean of the neighbours, without overlaps."""
    x = [0.0] * len(widths)
    for row in rows:
        at = 0.0
        for i in row:
            x[i] = at + widths[i] / 2
            at += widths[i] + _GAP
        for i in row:
            x[i] -= at / 2
    for sweep in range(8):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean(x, pulls, neighbours[i]) if neighbours[i] else x[i] for i in row]
            places = _apart(wanted, [widths[i] for i in row], [pulls[i] for i in row])
            for i, at in zip(row, places, strict=True):
                x[i] = at
    left = min((x[i] - widths[i] / 2 for row in rows for i in row), default=0.0)
    return [at - left for at in x]


def _mean(x: list[float], pulls: list[float], members: list[int]) -> float:
    return sum(x[j] * pulls[j] for j in members) / sum(pulls[j] for j in members)


def _apart(wanted: list[float], widths: list[float], pulls: list[float]) -> list[float]:
    """The positions closest to the wanted ones that keep the order and the gaps; groups of touching boxes move
    together."""
    offsets = [0.0]
    for a, b in zip(widths, widths[1:], strict=False):
        offsets.append(offsets[-1] + (a + b) / 2 + _GAP)
    # for each group: the sum of weighted wanted positions, the sum of weights, the number of boxes
    pools: list[tuple[float, float, int]] = []
    for at, offset, weight in zip(wanted, offsets, pulls, strict=True):
        total, pull, n = (at - offset) * weight, weight, 1
        while pools and pools[-1][0] * pull > total * pools[-1][1]:
            more, heavier, m = pools.pop()
            total, pull, n = total + more, pull + heavier, n + m
        pools.append((total, pull, n))
    starts = [total / pull for total, pull, n in pools for _ in range(n)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _depths(rows: list[list[int]], heights: list[float]) -> tuple[list[float], list[float], float]:
    """For each box the coordinate across the rows and half the height of its row; and the end of the last row."""
    y, halves = [0.0] * len(heights), [0.0] * len(heights)
    at = 0.0
    for row in rows:
        high = max(heights[i] for i in row) if row else 0.0
        for i in row:
            y[i], halves[i] = at + high / 2, high / 2
        at += high + _LAYER_GAP
    return y, halves, max(at - _LAYER_GAP, 0.0)


def _written(
    boxes: Sequence[Box],
    sizes: list[tuple[float, float]],
    edges: Sequence[Edge],
    chains: list[list[int]],
    points: list[tuple[float, float]],
    halves: list[float],
    size: tuple[float, float],
    direction: str,
    caption: str,
) -> str:
    margin = 8.0
    width = max(size[0], _LETTER * len(caption)) + 2 * margin
    height = size[1] + 2 * margin + (_LINE + 8 if caption else 0)
    out = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="{FONT_SIZE}">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    points = [(x + margin, y + margin) for x, y in points]
    seen: dict[tuple[int, int], int] = {}
    for e, chain in zip(edges, chains, strict=True):
        nth = seen[e.tail, e.head] = seen.get((e.tail, e.head), -1) + 1
        way = [points[e.tail]]
        for i in chain[1:-1]:  # straight through the row, between its boxes
            x, y = points[i]
            dx, dy = (halves[i], 0.0) if direction in ("LR", "RL") else (0.0, halves[i])
            way += [(x - dx, y - dy), (x + dx, y + dy)]
        way.append(points[e.head])
        out.append(_curve(way, sizes[e.tail], sizes[e.head], direction, 9.0 * nth, e.text))
    for box, (x, y), (w, h) in zip(boxes, points, sizes, strict=False):
        look = f'fill="{box.fill}" stroke="black" stroke-width="{2 if box.bold else 1}"'
        if box.oval:
            out.append(f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{w / 2:.1f}" ry="{h / 2:.1f}" {look}/>')
        else:
            out.append(f'<rect x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" height="{h:.1f}" {look}/>')
        top = y - _LINE * (len(box.lines) - 1) / 2 + FONT_SIZE * 0.35
        for k, line in enumerate(box.lines):
            out.append(_line_of_text(x, top + k * _LINE, line))
    if caption:
        out.append(_line_of_text(width / 2, height - margin, caption))
    return "\n".join([*out, "</svg>\n"])


def _line_of_text(x: float, y: float, line: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(printable(line))}</text>'


def _curve(
    way: list[tuple[float, float]],
    tail: tuple[float, float],
    head: tuple[float, float],
    direction: str,
    aside: float,
    text: str,
) -> str:
    """A smooth line from border to border. `aside`: shifts it, so that a second edge between two boxes does not hide
    the first."""
    across = direction in ("LR", "RL")
    side, ahead = (0 if across else 1), (-0.5 if direction in ("BT", "RL") else 0.5)
    start, end = list(way[0]), list(way[-1])
    start[side] += tail[side] * ahead
    end[side] -= head[side] * ahead
    start[1 - side] += aside
    end[1 - side] += aside
    stops = [start, *[list(p) for p in way[1:-1]], end]
    d = f"M{start[0]:.1f},{start[1]:.1f}"
    for a, b in zip(stops, stops[1:], strict=False):
        middle = (a[side] + b[side]) / 2
        c1, c2 = ([middle, a[1]], [middle, b[1]]) if across else ([a[0], middle], [b[0], middle])
        d += f" C{c1[0]:.1f},{c1[1]:.1f} {c2[0]:.1f},{c2[1]:.1f} {b[0]:.1f},{b[1]:.1f}"
    path = f'<path d="{d}" fill="none" stroke="#555555" marker-end="url(#arrow)"/>'
    if text:
        beside = (-22 * ahead, -5) if across else (9, 5 - 24 * ahead)
        path += "\n" + _line_of_text(end[0] + beside[0], end[1] + beside[1], text)
    return path


def printable(text: str) -> str:
    """The text without characters that XML does not allow."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\N{REPLACEMENT CHARACTER}", text)
