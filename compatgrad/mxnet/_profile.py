"""Records what runs while MXNet's profiler is on: operators, from the engine's hooks, and a program's own events."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from compatgrad import _C

from ._engine_names import operator_name

__all__ = ["Recorder", "recorder"]

_OPERATOR, _CUSTOM = "operator", "Custom Operator"


def _now() -> int:
    """The time in nanoseconds, once the GPU has finished what was launched."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter_ns()


class _Statistic:
    """Count, sum, smallest and largest of the times of one name, in milliseconds."""

    def __init__(self) -> None:
        self.count, self.total, self.least, self.most = 0, 0.0, float("inf"), 0.0

    def add(self, milliseconds: float) -> None:
        self.count += 1
        self.total += milliseconds
        self.least, self.most = min(self.least, milliseconds), max(self.most, milliseconds)

    def columns(self) -> dict[str, float]:
        mean = self.total / self.count
        return {"Count": self.count, "Total": self.total, "Min": self.least, "Max": self.most, "Avg": mean}


class _Frame:
    """A function of the engine, or a custom operator, that has begun; `inner`: time spent in operators inside it."""

    def __init__(self, key: Any, name: str, custom: bool) -> None:
        self.key, self.name, self.custom, self.inner, self.start = key, name, custom, 0, _now()


def _event(name: str, category: str, kind: str, nanoseconds: int, value: Any) -> dict[str, Any]:
    """An event of Chrome's tracing."""
    more = {"C": {"args": {name: value}}, "i": {"s": value}}.get(kind, {})
    where = {"pid": category, "tid": os.getpid()}
    return {"name": name, "cat": category, "ph": kind, "ts": nanoseconds / 1e3, **where, **more}


class Recorder:
    """A hook of the engine that measures times. It sees only the thread in which `start` was called."""

    name = "mxnet.profiler"

    def __init__(self) -> None:
        self._events: list[tuple[str, str, str, int, Any]] = []  # since the last write
        self._path, self._end_of_file = "", 0  # the file that is written to, and where its events end
        self.statistics: dict[str, dict[str, _Statistic]] = {}
        self.on = False
        self._frames: list[_Frame] = []
        self._hooks: Any = None

    def start(self) -> None:
        if not self.on:
            self.on, self._hooks = True, _C.function_hooks()
            self._hooks[self.name] = self

    def stop(self) -> None:
        if self.on:
            self.on = False
            self._hooks.pop(self.name, None)
            self._frames.clear()

    # ---- called by the engine ----------------------------------------------------------------------------------------

    def _begin(self, key: Any, name: str, custom: bool = False) -> None:
        self._frames.append(_Frame(key, name, custom))

    def _end(self, key: Any) -> None:
        frames = self._frames
        while frames and frames[-1].key is not key:
            frames.pop()  # an exception ended this frame, so that its own end was not reported
        if not frames:
            return
        frame, end = frames.pop(), _now()
        if frame.custom:
            self.record(f"{frame.name}::pure_python", _CUSTOM, frame.start, end, end - frame.start - frame.inner)
        self._operator(frame, end)

    def _operator(self, frame: _Frame, end: int) -> None:
        """Records an operator that has ended, unless it ran inside another operator."""
        around = self._frames[-1] if self._frames else None
        if around is not None:
            around.inner += end - frame.start
        if not frame.custom and (around is None or around.custom):
            name, category = (frame.name, _OPERATOR) if around is None else (f"{around.name}::{frame.name}", _CUSTOM)
            self.record(name, category, frame.start, end)

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        self._of_function(self._begin, function, "")

    def forward_postprocess(self, function: Any, in_data: Any) -> None:
        self._of_function(self._end, function, "")

    def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self._of_function(self._begin, function, "_backward_")

    def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self._of_function(self._end, function, "_backward_")

    def _of_function(self, call: Any, function: Any, prefix: str) -> None:
        name = operator_name(function)
        if name is not None:  # else it is defined in Python, and `custom` measures it
            call(function, *([prefix + name] if call == self._begin else []))

    @contextlib.contextmanager
    def custom(self, name: str) -> Iterator[None]:
        """Measures the code of a custom operator, which runs inside the `with` block."""
        key = object()
        self._begin(key, name, custom=True)
        try:
            yield
        finally:
            self._end(key)

    def made(self, name: str, make: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Calls `make`, which creates an array, and records the call as the operator `name`: no hook sees it."""
        frame = _Frame(None, name, custom=False)
        t = make()
        self._operator(frame, _now())
        return t

    # ---- events and statistics ---------------------------------------------------------------------------------------

    def record(self, name: str, category: str, start: int, end: int, spent: int | None = None) -> None:
        """Records a span between two readings of `time.perf_counter_ns`; `spent` is what statistics count."""
        self._events += ((name, category, "B", start, None), (name, category, "E", end, None))
        statistic = self.statistics.setdefault(category, {}).setdefault(name, _Statistic())
        statistic.add((end - start if spent is None else spent) / 1e6)

    def point(self, name: str, category: str, kind: str, value: Any) -> None:
        """Records an instant (kind "i"; `value` is its scope), or the value of a counter (kind "C")."""
        self._events.append((name, category, kind, time.perf_counter_ns(), value))

    def write(self, path: str, finished: bool = False) -> None:
        """Appends the events since the last call to a file in the format of Chrome's tracing. The file is overwritten
        if the last call had another path or `finished` it.
        """
        text = "".join(f"{json.dumps(_event(*event))},\n" for event in self._events)
        self._events.clear()
        begin = path != self._path
        with open(path, "w" if begin else "r+") as f:
            f.write('{"displayTimeUnit": "ms", "traceEvents": [\n') if begin else f.seek(self._end_of_file)
            f.write(text)
            self._end_of_file = f.tell()
            f.write("{}]}\n")
        self._path = "" if finished else path

    def table(self, sort_by: str, ascending: bool) -> dict[str, dict[str, dict[str, float]]]:
        """The statistics by category and name: Count, and Total, Min, Max, Avg in milliseconds."""
        return {
            category: dict(sorted(
                ((name, s.columns()) for name, s in rows.items()),
                key=lambda row: row[1][sort_by.capitalize()], reverse=not ascending,
            ))
            for category, rows in sorted(self.statistics.items())
        }  # fmt: skip


recorder = Recorder()
