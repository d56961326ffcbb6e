"""Reads what the recorder wrote, and says how far two recorded arrays are apart."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from compatgrad.tools.compatgrad_recorder._recorder import SCHEMA
from compatgrad.tools.compatgrad_recorder._statistics import Statistics

Event = dict[str, Any]


class RecordingError(Exception):
    """A folder has no complete recording."""


@dataclass
class Recording:
    """The events of one run, in their order. Every event has its number in `j` and, for all but the first of a name in
    a step, its occurrence in `q`."""

    folder: Path
    meta: dict[str, Any]
    events: list[Event]
    arrays: Any = field(repr=False)

    @property
    def steps(self) -> int:
        return int(self.meta["steps"])

    def whole(self, described: Any) -> np.ndarray[Any, Any] | None:
        """The array, if it was stored whole."""
        if described is None or described[2] is not None or described[3] < 0:
            return None
        dtype, shape, _, place = described
        kind = np.dtype(dtype)
        size = math.prod(shape)
        if place + size * kind.itemsize > len(self.arrays):
            raise RecordingError(f"{self.folder / 'arrays.bin'} ends before an array at {place}")
        array: np.ndarray[Any, Any] = np.frombuffer(self.arrays, kind, size, place).reshape(shape)
        return array


def read(folder: Path) -> Recording:
    """Reads a folder. Raises RecordingError if it has no recording, or one of another version."""
    try:
        meta = json.loads((folder / "meta.json").read_text())
    except FileNotFoundError:
        raise RecordingError(f"{folder} has no meta.json: the folder has no recording, or its run was killed") from None
    except ValueError as error:
        raise RecordingError(f"{folder / 'meta.json'} is damaged: {error}") from None
    if not isinstance(meta, dict):
        raise RecordingError(f"{folder / 'meta.json'} is damaged: it holds no object")
    if meta.get("schema") != SCHEMA:
        raise RecordingError(f"{folder} has a recording of version {meta.get('schema')}; this is version {SCHEMA}")
    try:
        with open(folder / "events.jsonl") as file:
            lines = file.read().split("\n")
        if lines.pop() and meta["ended"] != "killed":  # a run that was killed may have ended within a line
            raise ValueError("events.jsonl: the last event is not complete")
        groups = [json.loads(line) for line in lines]
        for number, group in enumerate(groups, 1):
            if not isinstance(group, list):
                raise ValueError(f"events.jsonl, line {number}: expected a list of events, got {type(group).__name__}")
            for event in group:
                if not isinstance(event, dict) or not {"k", "s", "n"} <= event.keys():
                    raise ValueError(f"events.jsonl, line {number}: expected events with the keys k, s and n")
        events = [event for group in groups for event in group]
        arrays = (folder / "arrays.bin").read_bytes()
    except (OSError, ValueError) as error:
        raise RecordingError(f"{folder} is damaged: {error}") from None
    if meta["ended"] == "killed":  # and it has not counted to its end
        meta["steps"] = sum(event["k"] == "step" for event in events)
    for j, event in enumerate(events):
        event["j"] = j
    return Recording(folder, meta, events, arrays)


@dataclass(frozen=True)
class Distance:
    """How far two arrays are apart. error: root mean square of the difference; size: root mean square of the larger
    array; count: number of elements; why: a difference that is none of numbers, such as the shape."""

    error: float
    size: float
    dtype: str
    count: int
    why: str = ""

    @property
    def relative(self) -> float:
        if self.why:
            return math.inf
        if not self.error:
            return 0.0
        return self.error / self.size if self.size else math.inf


def _described(a: Any) -> str:
    return "none" if a is None else f"{a[0]}{list(a[1])}"


def distance(original: Recording, a: Any, here: Recording, b: Any) -> Distance | None:
    """The distance of two descriptions; None where one side did not look at the array."""
    if a is None or b is None:
        return None
    count = math.prod(a[1])
    if list(a[1]) != list(b[1]):
        return Distance(math.inf, 0, a[0], count, f"{_described(a)} in the original, {_described(b)} here")
    kinds = np.dtype(a[0]).kind if a[0] != "object" else "O", np.dtype(b[0]).kind if b[0] != "object" else "O"
    if "O" in kinds or not count:
        return Distance(0.0, 0.0, a[0], count)
    coarser = min(a[0], b[0], key=lambda name: np.dtype(name).itemsize) if kinds == ("f", "f") else a[0]
    x, y = original.whole(a), here.whole(b)
    if x is not None and y is not None:
        return _of_arrays(x, y, coarser)
    of = _statistics_of(x, a), _statistics_of(y, b)
    if of[0] is None or of[1] is None:
        return None
    low, high, mean, norm, nans, infinities, check, s1, s2 = of[0]
    low_, high_, mean_, norm_, nans_, infinities_, check_, s1_, s2_ = of[1]
    root = math.sqrt(count)
    size = max(norm, norm_) / root
    if (nans, infinities) != (nans_, infinities_):
        what = f"{nans} NaN and {infinities} infinities in the original, {nans_} and {infinities_} here"
        return Distance(math.inf, size, coarser, count, what)
    if check == check_ and abs(s1 - s1_) <= 1e-4 * norm:  # equal numbers, which other versions of NumPy sum otherwise
        return Distance(0.0, size, coarser, count)
    if kinds[0] in "biu" and kinds[1] in "biu":
        scale = max(abs(low), abs(high), abs(low_), abs(high_), 1.0)
        error = max(abs(mean - mean_), abs(low - low_) / root, abs(high - high_) / root, scale / root)
        return Distance(error, scale, coarser, count)
    error = max(math.hypot(s1 - s1_, s2 - s2_) / math.sqrt(2), abs(norm - norm_))
    return Distance(error / root, size, coarser, count)


def _statistics_of(array: np.ndarray[Any, Any] | None, described: Any) -> Any:
    """The statistics of a description; one side may have stored an array whole of which the other has statistics."""
    return described[2] if array is None or not array.size else _statistics().of(array)


@cache
def _statistics() -> Statistics:
    return Statistics()


def _of_arrays(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], dtype: str) -> Distance:
    a, b = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), y.astype(np.float64)
    bad = ~np.isfinite(a), ~np.isfinite(b)
    size = rms(np.where(bad[0], 0, a)), rms(np.where(bad[1], 0, b))
    if not np.array_equal(np.where(bad[0], a, 0), np.where(bad[1], b, 0), equal_nan=True):
        kinds = [f"{int(np.isnan(v).sum())} NaN and {int(np.isinf(v).sum())} infinities" for v in (a, b)]
        return Distance(math.inf, max(size), dtype, x.size, f"{kinds[0]} in the original, {kinds[1]} here")
    error = rms(np.where(bad[0], 0, a) - np.where(bad[1], 0, b))
    return Distance(error, max(size), dtype, x.size)


def rms(a: np.ndarray[Any, Any]) -> float:
    """The root mean square."""
    return math.sqrt(float(np.mean(np.square(np.abs(a))))) if a.size else 0.0
