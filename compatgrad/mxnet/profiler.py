"""MXNet's profiler: after `set_state("run")` a table of operators and times by `dumps()`, a file by `dump()`."""

from __future__ import annotations

import atexit
import json
import time
import warnings
from typing import Any

from compatgrad.core import notes

from ._profile import recorder
from .base import MXNetError

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


_config: dict[str, Any] = {"filename": "profile.json", "aggregate_stats": False}
_state = {"run": False, "unwritten": False}


def _at_exit() -> None:
    if _state["run"]:  # writes the file of a program that ends while it is profiled
        set_state("stop")


def set_config(**kwargs: Any) -> None:
    """Sets options of the profiler.

    Args:
        **kwargs: `filename`, the file that is written, "profile.json" at first; `aggregate_stats`, whether `dumps`
            gives times by name. The other options of MXNet, which select what is profiled, are accepted without effect:
            operators, tasks, frames, events, counters and markers are.

    Raises:
        ValueError: there is no such option.

    Example:
        >>> mx.profiler.set_config(profile_all=True, aggregate_stats=False, filename="profile.json")

    Source: `mxnet.profiler.set_config` of MXNet 1.9.1.
    """
    for key in kwargs:
        if key not in _CONFIG_KEYS:
            raise ValueError(f"profiler.set_config: unknown option '{key}'; known are {_CONFIG_KEYS}")
    _config.update(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts profiling, or ends it and writes the file.

    Operators are recorded in the thread that starts profiling. An operator that is one function of the engine has
    MXNet's name; others appear as the functions of which they consist. Of the functions that create arrays, only
    `_zeros`, `_ones`, `_full` and `_empty` are recorded.

    Args:
        state: "run" or "stop".
        profile_process: accepted; there are no servers.

    Raises:
        KeyError: `state` has another value.

    Example:
        >>> mx.profiler.set_state("run")
        >>> y = nd.ones(2) + 1
        >>> mx.profiler.set_state("stop")
        >>> mx.profiler.dump()

    Source: `mxnet.profiler.set_state` of MXNet 1.9.1.
    """
    run = {"run": True, "stop": False}[state]
    if run:
        notes.note_difference("profiler")
    if run and not _state["unwritten"]:
        atexit.unregister(_at_exit)
        atexit.register(_at_exit)
    if _state["run"] and not run:
        recorder.write(str(_config["filename"]))
    _state["run"] = run
    _state["unwritten"] = _state["unwritten"] or run
    (recorder.start if run else recorder.stop)()


def pause(profile_process: str = "worker") -> None:
    """Pauses recording, if profiling runs.

    Args:
        profile_process: accepted; there are no servers.

    Raises:
        Nothing.

    Example:
        >>> mx.profiler.pause()

    Source: `mxnet.profiler.pause` of MXNet 1.9.1.
    """
    recorder.stop()


def resume(profile_process: str = "worker") -> None:
    """Goes on recording after `pause`, where profiling was started.

    Args:
        profile_process: accepted; there are no servers.

    Raises:
        Nothing.

    Example:
        >>> mx.profiler.resume()  # nothing happens: profiling was not started

    Source: `mxnet.profiler.resume` of MXNet 1.9.1.
    """
    if _state["run"]:
        recorder.start()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes what was recorded to the file of `set_config(filename=...)`, in the format of Chrome's tracing.

    Args:
        finished: profiling ends, and the next file begins anew.
        profile_process: accepted; there are no servers.

    Raises:
        MXNetError: nothing was profiled since the last call that finished.

    Example:
        >>> import json
        >>> mx.profiler.set_config(filename="profile.json")
        >>> mx.profiler.set_state("run")
        >>> y = nd.ones(2) + 1
        >>> mx.profiler.dump()
        >>> sorted(json.load(open("profile.json")))
        ['displayTimeUnit', 'traceEvents']

    Source: `mxnet.profiler.dump` of MXNet 1.9.1.
    """
    if not _state["unwritten"]:
        raise MXNetError("Profiler hasn't been run. Config and start profiler first")
    recorder.write(str(_config["filename"]), finished)
    if finished:
        recorder.stop()
        _state["run"] = _state["unwritten"] = False


_HEAD = ("Total Count", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Times of what was recorded, by category and name, as text.

    Args:
        reset: forgets them afterwards.
        format: "table" or "json".
        sort_by: "total", "avg", "min", "max" or "count".
        ascending: the order of the rows.

    Returns:
        The text; '' unless `set_config(aggregate_stats=True)`. Times are in milliseconds.

    Raises:
        AssertionError: an argument has another value, or no bool.

    Example:
        >>> mx.profiler.set_config(aggregate_stats=True)
        >>> text = mx.profiler.dumps(format="json")
        >>> mx.profiler.set_config(aggregate_stats=False)
        >>> '"Unit"' in text
        True

    Source: `mxnet.profiler.dumps` of MXNet 1.9.1.
    """
    assert format in ("table", "json"), f"profiler.dumps: format must be 'table' or 'json', not {format!r}"
    assert sort_by in _SORT_KEYS, f"profiler.dumps: sort_by must be one of {_SORT_KEYS}, not {sort_by!r}"
    assert isinstance(ascending, bool), f"profiler.dumps: ascending must be True or False, not {ascending!r}"
    assert isinstance(reset, bool), f"profiler.dumps: reset must be True or False, not {reset!r}"
    if not _config["aggregate_stats"]:
        return ""
    times = recorder.table(sort_by, ascending)
    if reset:
        recorder.statistics.clear()
    if format == "json":
        return json.dumps({"Time": times, "Memory": {}, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    for category, rows in times.items():
        lines += [category, "=================", f"{'Name':<25}" + " ".join(f"{h:>16}" for h in _HEAD)]
        for name, row in rows.items():
            numbers = " ".join(f"{row[key]:>16.4f}" for key in ("Total", "Min", "Max", "Avg"))
            lines.append(f"{name:<25}{row['Count']:>16} {numbers}")
        lines.append("")
    return "\n".join(lines) + "\n"


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"profiler.{old}() is deprecated, use profiler.{new}()", stacklevel=3)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """The old name of `set_config`, which warns of it.

    Args:
        mode: "symbolic", "imperative", "api", "memory" or "all".
        filename: the file that is written.

    Raises:
        ValueError: `mode` has another value.

    Example:
        >>> mx.profiler.profiler_set_config("all", "profile.json")

    Source: `mxnet.profiler.profiler_set_config` of MXNet 1.9.1.
    """
    _deprecated("profiler_set_config", "set_config")
    set_config(**{"profile_" + mode: True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """The old name of `set_state`, which warns of it.

    Args:
        state: "run" or "stop".

    Raises:
        KeyError: `state` has another value.

    Example:
        >>> mx.profiler.profiler_set_state("stop")

    Source: `mxnet.profiler.profiler_set_state` of MXNet 1.9.1.
    """
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """The old name of `dump`, which warns of it.

    Example:
        >>> mx.profiler.set_state("run")
        >>> mx.profiler.dump_profile()

    Source: `mxnet.profiler.dump_profile` of MXNet 1.9.1.
    """
    _deprecated("dump_profile", "dump")
    dump(True)


def set_kvstore_handle(handle: Any) -> None:
    """Accepted without effect: there are no servers to profile.

    Args:
        handle: anything.

    Raises:
        Nothing.

    Example:
        >>> mx.profiler.set_kvstore_handle(None)

    Source: `mxnet.profiler.set_kvstore_handle` of MXNet 1.9.1.
    """


class _Span:
    """A span of time with a name, shown in the profile."""

    _category = "event"

    def __init__(self, name: str) -> None:
        self.name = name
        self._start: int | None = None

    def start(self) -> None:
        """Begins the span."""
        self._start = time.perf_counter_ns()

    def stop(self) -> None:
        """Ends the span."""
        if self._start is not None and recorder.on:
            recorder.record(self.name, self._category, self._start, time.perf_counter_ns())
        self._start = None

    def __str__(self) -> str:
        return self.name


class Task(_Span):
    """A span of time of a domain, from `start` to `stop`, shown in the profile.

    Args:
        domain: the Domain.
        name: the name that is shown.

    Example:
        >>> task = mx.profiler.Domain("training").new_task("load")
        >>> task.start(); task.stop()
        >>> print(task)
        load

    Source: `mxnet.profiler.Task` of MXNet 1.9.1.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name)
        self.domain = domain
        self._category = domain.name


class Frame(Task):
    """A span of time of a domain that recurs, such as a training step, from `start` to `stop`.

    Args:
        domain: the Domain.
        name: the name that is shown.

    Example:
        >>> frame = mx.profiler.Domain("training").new_frame("step")
        >>> for batch in range(2):
        ...     frame.start(); frame.stop()

    Source: `mxnet.profiler.Frame` of MXNet 1.9.1.
    """


class Event(_Span):
    """A span of time of no domain, from `start` to `stop`, shown in the profile.

    Args:
        name: the name that is shown.

    Example:
        >>> event = mx.profiler.Event("load")
        >>> event.start(); event.stop()

    Source: `mxnet.profiler.Event` of MXNet 1.9.1.
    """


class Counter:
    """A number of a domain that changes over time; `+=` and `-=` change it too.

    Args:
        domain: the Domain.
        name: the name that is shown.
        value: the number at first, an integer; None is 0.

    Example:
        >>> samples = mx.profiler.Domain("training").new_counter("samples", 5)
        >>> samples += 3
        >>> samples.value
        8

    Source: `mxnet.profiler.Counter` of MXNet 1.9.1.
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.domain, self.name = domain, name
        self.value = 0 if value is None else int(value)

    def set_value(self, value: int) -> None:
        """Sets the number."""
        self.value = int(value)
        if recorder.on:
            recorder.point(self.name, self.domain.name, "C", self.value)

    def increment(self, delta: int = 1) -> None:
        """Adds `delta`."""
        self.set_value(self.value + int(delta))

    def decrement(self, delta: int = 1) -> None:
        """Subtracts `delta`."""
        self.set_value(self.value - int(delta))

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """A moment of a domain, shown in the profile by `mark`.

    Args:
        domain: the Domain.
        name: the name that is shown.

    Example:
        >>> mx.profiler.Domain("training").new_marker("epoch ends").mark()

    Source: `mxnet.profiler.Marker` of MXNet 1.9.1.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain, self.name = domain, name

    def mark(self, scope: str = "process") -> None:
        """Puts the moment into the profile."""
        if recorder.on:
            recorder.point(self.name, self.domain.name, "i", scope[:1])


class Domain:
    """A group of tasks, frames, counters and markers in the profile.

    Args:
        name: the name that is shown.

    Example:
        >>> print(mx.profiler.Domain("training"))
        training

    Source: `mxnet.profiler.Domain` of MXNet 1.9.1.
    """

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
