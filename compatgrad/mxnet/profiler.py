"""MXNet's profiler, on top of PyTorch's: `set_state('run')` ... `dumps()` gives a table of operators and times."""

from __future__ import annotations

import atexit
import json
import warnings
from typing import Any

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_kvstore_handle",
    "set_state",
]

_CONFIG_KEYS = (
    "filename profile_all profile_symbolic profile_imperative profile_memory profile_api continuous_dump dump_period "
    "aggregate_stats profile_process profile_mode gpu_memory_profile_filename_prefix"
).split()


_SORT_KEYS = ("total", "avg", "min", "max", "count")


class _Profile:
    """The run in progress, and those that ended."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {"filename": "profile.json"}
        self.current: Any = None
        self.done: list[Any] = []
        self.ends = False

    def start(self) -> None:
        if self.current is None:
            from torch import profiler

            self.current = profiler.profile(activities=[profiler.ProfilerActivity.CPU])
            self.current.__enter__()
            if not self.ends:  # PyTorch's profiler must not run on while the process ends
                self.ends = True
                atexit.register(self.stop)

    def stop(self) -> None:
        if self.current is not None:
            current, self.current = self.current, None
            current.__exit__(None, None, None)
            self.done.append(current)


_profile = _Profile()


def set_config(**kwargs: Any) -> None:
    """Sets the file name and what is profiled; only `filename` has an effect. ValueError for an unknown option."""
    for key in kwargs:
        if key not in _CONFIG_KEYS:
            raise ValueError(f"profiler.set_config: unknown option '{key}'; known are {_CONFIG_KEYS}")
    _profile.config.update(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts ('run') or ends ('stop') profiling; KeyError for another state."""
    {"run": _profile.start, "stop": _profile.stop}[state]()


def pause(profile_process: str = "worker") -> None:
    """Ends recording for now."""
    _profile.stop()


def resume(profile_process: str = "worker") -> None:
    """Goes on recording."""
    _profile.start()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes what was recorded to the file of `set_config(filename=...)`, in the format of Chrome's tracing."""
    if finished:
        _profile.stop()
    unwritten = [run for run in _profile.done if not hasattr(run, "_written")]
    if unwritten:  # PyTorch writes each recording once
        unwritten[-1].export_chrome_trace(str(_profile.config["filename"]))
        unwritten[-1]._written = True
    elif not _profile.done:
        warnings.warn("profiler.dump: nothing was recorded, no file is written", stacklevel=2)


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Times by operator, as a table or as JSON; '' where nothing was recorded. `reset` forgets what was recorded."""
    assert format in ("table", "json"), f"profiler.dumps: format must be 'table' or 'json', not {format!r}"
    assert sort_by in _SORT_KEYS, f"profiler.dumps: sort_by must be one of {_SORT_KEYS}, not {sort_by!r}"
    assert isinstance(ascending, bool), f"profiler.dumps: ascending must be True or False, not {ascending!r}"
    assert isinstance(reset, bool), f"profiler.dumps: reset must be True or False, not {reset!r}"
    rows = []
    for run in _profile.done:
        rows += [(e.key, e.count, e.cpu_time_total / 1e3) for e in run.key_averages()]
    column = {"count": lambda r: r[1], "total": lambda r: r[2]}.get(sort_by, lambda r: r[2] / max(r[1], 1))
    rows.sort(key=column, reverse=not ascending)
    if reset:
        _profile.done.clear()
    if format == "json":
        times = {name: {"Count": n, "Total": t, "Avg": t / max(n, 1)} for name, n, t in rows}
        return json.dumps({"Time": {"operator": times}, "Memory": {}, "Unit": {"Time": "ms", "Memory": "kb"}})
    if not rows:
        return ""
    head = f"{'Name':<50}{'Total Count':>14}{'Time (ms)':>16}{'Avg Time (ms)':>16}"
    return "\n".join(
        ["Profile Statistics:", head] + [f"{name:<50}{n:>14}{t:>16.4f}{t / max(n, 1):>16.4f}" for name, n, t in rows]
    )


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"profiler.{old}() is deprecated, use profiler.{new}()", stacklevel=3)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """The old name of `set_config`."""
    _deprecated("profiler_set_config", "set_config")
    set_config(**{"profile_" + mode: True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """The old name of `set_state`."""
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """The old name of `dump`."""
    _deprecated("dump_profile", "dump")
    dump(True)


def set_kvstore_handle(handle: Any) -> None:
    """Accepted: there are no servers to profile."""


class _Span:
    """A stretch of time with a name, shown in the profile."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._range: Any = None

    def start(self) -> None:
        """Begins the stretch."""
        from torch.autograd.profiler import record_function

        self._range = record_function(self.name)
        self._range.__enter__()

    def stop(self) -> None:
        """Ends the stretch."""
        if self._range is not None:
            current, self._range = self._range, None
            current.__exit__(None, None, None)

    def __str__(self) -> str:
        return self.name


class Task(_Span):
    """A stretch of time of a domain."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name)
        self.domain = domain


class Frame(Task):
    """A stretch of time of a domain that is repeated, such as a step."""


class Event(_Span):
    """A stretch of time of no domain."""


class Counter:
    """A number of a domain that changes over time."""

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.domain, self.name = domain, name
        self.value = 0 if value is None else int(value)

    def set_value(self, value: int) -> None:
        """Sets the number."""
        self.value = int(value)

    def increment(self, delta: int = 1) -> None:
        """Adds `delta`."""
        self.value += int(delta)

    def decrement(self, delta: int = 1) -> None:
        """Subtracts `delta`."""
        self.value -= int(delta)

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """A moment of a domain."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain, self.name = domain, name

    def mark(self, scope: str = "process") -> None:
        """Puts the moment into the profile."""
        span = Event(self.name)
        span.start()
        span.stop()


class Domain:
    """A group of tasks, frames, counters and markers."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A Task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A Frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """A Counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A Marker of this domain."""
        return Marker(self, name)
