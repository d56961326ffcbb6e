"""Decides whether two runs of a program agree up to rounding errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

FIRST = 10  # steps that must agree up to rounding
ROUNDING = 1e-4  # relative to the curve's size; some hundred float32 additions in sequence
DOUBLE = 1e-9  # the same in double precision
GROWTH = 3.0  # a difference may grow so many times as fast as the original's own


@dataclass
class Verdict:
    """same: whether the runs agree. first: the largest difference in the first steps. drift, own: the largest ones
    after them, between here and the original, and between the original and its perturbed runs. All are relative to the
    curve's size."""

    same: bool
    first: float
    drift: float
    own: float
    where: str = ""


def _distance(xs: list[float], ys: list[float], begin: int, end: int | None, size: float) -> float:
    worst = 0.0
    for x, y in zip(xs[begin:end], ys[begin:end], strict=False):
        if math.isfinite(x) and math.isfinite(y):
            worst = max(worst, abs(x - y) / size)
        elif not (x == y or (math.isnan(x) and math.isnan(y))):
            return math.inf
    return worst


def _kind(x: float) -> str:
    return "finite" if math.isfinite(x) else str(x)


def _alike(runs: list[list[float]]) -> int:
    """The number of steps before one run has a finite number, and another one an infinity or NaN."""
    kinds = [{*map(_kind, values)} for values in zip(*runs, strict=False)]
    return next((i for i, found in enumerate(kinds) if len(found) > 1), len(kinds))


def compare(
    original: dict[str, list[float]],
    here: dict[str, list[float]],
    perturbed: list[dict[str, list[float]]],
    double: bool = False,
) -> Verdict:
    """Compare the curves of a run with the original's, with the original's runs from perturbed parameters as a measure.

    In the first steps a curve may differ by rounding, or as much as the perturbed runs differ if that is more. Later it
    may differ GROWTH times as much as they do, because rounding errors enter at every step, not only at the first.
    If some of the original's runs overflow at a step and others do not, the comparison of the curve ends there; in the
    first steps, that leaves the curve without a verdict.
    In double precision rounding errors are a billion times smaller than the perturbation, so the differences of the
    perturbed runs are divided by a million.
    """
    rounding, growth = (DOUBLE, 1e-6) if double else (ROUNDING, GROWTH)
    worst = Verdict(True, 0.0, 0.0, 0.0)
    if original.keys() != here.keys():
        return Verdict(False, math.inf, math.inf, 0.0, f"other curves: {sorted(original.keys() ^ here.keys())}")
    for key, theirs in original.items():
        ours = here[key]
        if len(theirs) != len(ours):
            return Verdict(False, math.inf, math.inf, 0.0, f"{key}: {len(ours)} steps, not {len(theirs)}")
        end = _alike([theirs, *(p[key] for p in perturbed)])
        if end < min(FIRST, len(theirs)):
            where = f"{key}: runs of the original are not finite alike at step {end + 1}"
            return Verdict(False, _distance(theirs, ours, 0, end, 1.0), math.inf, math.inf, where)
        size = max([abs(v) for v in theirs[:end] if math.isfinite(v)], default=1.0) or 1.0
        own_first = max((_distance(theirs, p[key], 0, FIRST, size) for p in perturbed), default=0.0)
        own = max((_distance(theirs, p[key], FIRST, end, size) for p in perturbed), default=0.0)
        first = _distance(theirs, ours, 0, FIRST, size)
        drift = _distance(theirs, ours, FIRST, end, size)
        if first > max(rounding, growth * own_first):
            return Verdict(False, first, drift, own, f"{key}: differs in the first {FIRST} steps")
        if drift > max(rounding, growth * own):
            return Verdict(False, first, drift, own, f"{key}: drifts")
        worst = Verdict(True, max(worst.first, first), max(worst.drift, drift), max(worst.own, own))
    return worst
