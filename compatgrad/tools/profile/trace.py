"""Traces of torch's profiler in which functions, layers and parts of steps are ranges; memory over a step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from .record import Ranges

STEP = "step"
POINTS = 300  # of a curve


class Tracer(Ranges):
    """Runs torch's profiler, and makes ranges of what a recorder tells."""

    def __init__(self) -> None:
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self.profiler = profile(activities=activities, profile_memory=True)
        self.open: list[Any] = []
        with _silence():
            self.profiler.start()
        self.begin(STEP)

    def begin(self, name: str) -> None:
        entered = record_function(name)
        entered.__enter__()
        self.open.append(entered)

    def end(self) -> None:
        if self.open:
            self.open.pop().__exit__(None, None, None)

    def step(self) -> None:
        while self.open:
            self.end()
        self.begin(STEP)

    def stop(self) -> None:
        while self.open:
            self.end()
        with _silence():
            self.profiler.stop()

    def write(self, path: str) -> None:
        self.profiler.export_chrome_trace(path)


@contextmanager
def _silence() -> Iterator[None]:
    """Without standard error, on which torch's profiler says that it starts and stops."""
    kept = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


@dataclass
class Memory:
    """Memory of a step on one device: bytes above what was used when the step began."""

    device: str
    seconds: float = 0.0
    curve: list[tuple[float, int]] = field(default_factory=list)  # time in the step, bytes
    parts: list[tuple[str, float, float]] = field(default_factory=list)  # forward, backward, update: from, to
    peak: int = 0
    peak_at: float = 0.0
    peak_in: str = ""
    allocated: dict[str, int] = field(default_factory=dict)  # by range: a function, or a layer without inner ones


def memory_of(tracer: Tracer) -> list[Memory]:
    """The memory of one whole step, for each device on which something was allocated."""
    events = sorted(tracer.profiler.profiler.kineto_results.events(), key=lambda e: e.start_ns())  # type: ignore[union-attr]
    steps = [e for e in events if e.name() == STEP][:-1]  # the last one was not finished
    if not steps:
        return []
    step = min(steps[1:] or steps, key=lambda e: e.duration_ns())  # the one that other programs delayed least
    start, end = step.start_ns(), step.start_ns() + step.duration_ns()
    inside = [e for e in events if start <= e.start_ns() <= end]
    ranges = [(e.name(), e.start_ns(), e.start_ns() + e.duration_ns()) for e in inside if _is_range(e.name())]
    found: dict[str, Memory] = {}
    level: dict[str, int] = {}
    open_ranges: list[tuple[str, int, int]] = []
    coming = iter([*sorted(ranges, key=lambda r: (r[1], -r[2])), ("", 2**63, 0)])
    following = next(coming)
    for e in inside:
        while following[1] <= e.start_ns():
            open_ranges.append(following)
            following = next(coming)
        open_ranges = [r for r in open_ranges if r[2] >= e.start_ns()]
        if e.name() != "[memory]":
            continue
        device = str(e.device_type()).rpartition(".")[2].lower()
        memory = found.setdefault(device, Memory(device, (end - start) / 1e9))
        level[device] = level.get(device, 0) + e.nbytes()
        at = (e.start_ns() - start) / 1e9
        memory.curve.append((at, level[device]))
        around = [name for name, _, _ in open_ranges]
        if level[device] > memory.peak:
            memory.peak, memory.peak_at = level[device], at
            memory.peak_in = next((n for n in reversed(around) if ":" in n), around[-1] if around else "")
        inner = next((name for name in reversed(around) if name.startswith("layer ")), None)
        counted = {name for name in around if not name.startswith("layer ") or name == inner}
        for name in counted if e.nbytes() > 0 else ():
            memory.allocated[name] = memory.allocated.get(name, 0) + e.nbytes()
    for memory in found.values():
        memory.curve = thinned(memory.curve, memory.seconds)
        memory.parts = [
            (name, (a - start) / 1e9, (b - start) / 1e9)
            for name, a, b in ranges
            if name in ("forward", "backward", "update", "data")
        ]
    return list(found.values())


def _is_range(name: str) -> bool:
    return name in ("forward", "backward", "update", "data", "loss") or name.startswith(
        ("chainer:", "nnabla:", "mxnet:", "compatgrad:", "layer ")
    )


def thinned(curve: list[tuple[float, int]], seconds: float) -> list[tuple[float, int]]:
    """A curve with at most two points, the lowest and the highest one, for each of `POINTS` intervals of time."""
    if len(curve) <= POINTS or seconds <= 0:
        return curve
    bins: dict[int, list[tuple[float, int]]] = {}
    for point in curve:
        bins.setdefault(int(point[0] / seconds * POINTS), []).append(point)
    kept: list[tuple[float, int]] = []
    for _, points in sorted(bins.items()):
        low, high = min(points, key=lambda p: p[1]), max(points, key=lambda p: p[1])
        kept += sorted({low, high})
    return kept
