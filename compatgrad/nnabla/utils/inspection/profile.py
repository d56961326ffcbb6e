"""Measures the time of each function during forward and backward."""

from __future__ import annotations

import csv
import os
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy

from compatgrad.core.files import replacing

from ...ext_utils import import_extension_module
from .base import FunctionHookCallbackBase

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from typing import Any


class CpuTimerCallback(FunctionHookCallbackBase):
    """Measures the time between the calls of two hooks with the same key, and synchronizes with the device in each
    call.

    Args:
        ext_name: the backend to synchronize with: "cpu", "cuda" or "cudnn".
        device_id: the number of the device.

    Example:
        >>> from compatgrad.nnabla.utils.inspection import CpuTimerCallback
        >>> timer = CpuTimerCallback("cpu", "0")
        >>> for _ in range(3):
        ...     timer.pre_hook("sum")
        ...     _ = sum(range(100))
        ...     timer.post_hook("sum")
        ...     timer.calc_elapsed_time()
        >>> len(timer.results["sum"]), timer.average(start_index=1)["sum"]["num"]
        (3, 2)

    Source: `nnabla.utils.inspection.CpuTimerCallback` of nnabla 1.39.0.
    """

    def __init__(self, ext_name: str, device_id: str | int):
        self.results = {}
        self.device_id = str(device_id)
        self.ext_module = import_extension_module(ext_name)
        self.key_to_times = {}

    @staticmethod
    def timer() -> float:
        """The time in seconds, from an arbitrary start, after synchronizing with the device."""
        return time.perf_counter()

    def _idle(self):
        self.ext_module.synchronize(device_id=self.device_id)
        return self.timer()

    @property
    def pre_hook(self) -> Callable[[Hashable], None]:
        """Records the start time for a key."""

        def start(key):
            self.key_to_times[key] = [self._idle(), None]

        return start

    @property
    def post_hook(self) -> Callable[[Hashable], None]:
        """Records the end time for a key. Raises ValueError if `pre_hook` was not called with the key."""

        def end(key):
            if key not in self.key_to_times:
                raise ValueError(f"post_hook: {key!r} was not started by pre_hook")
            self.key_to_times[key][1] = self._idle()

        return end

    def calc_elapsed_time(self) -> None:
        """Appends the last elapsed time of each key to its list in `results`."""
        for key, (start, end) in self.key_to_times.items():
            self.results.setdefault(key, []).append(end - start)

    def average(self, start_index: int = 0) -> dict[Hashable, dict[str, Any]]:
        """The mean of the times from index `start_index` on: by key, a dict with "time", "num" (the number of times)
        and "scale" ("ms")."""
        return {
            key: {"time": numpy.mean(times[start_index:]) * 1e3, "num": len(times) - start_index, "scale": "ms"}
            for key, times in self.results.items()
        }


class TimeProfiler(FunctionHookCallbackBase):
    """Provides hooks that measure the time of each function, grouped by scopes.

    The scope "summary" holds the times of the scopes themselves. Calling the profiler prints the mean times, without
    the first iteration.

    Args:
        ext_name: "cpu", "cuda" or "cudnn". Raises NotImplementedError for another.
        device_id: the number of the device.

    Example:
        >>> from compatgrad.nnabla.utils.inspection import TimeProfiler
        >>> profiler = TimeProfiler("cpu", "0")
        >>> y = F.exp(F.relu(nn.Variable((2, 3))))
        >>> for _ in range(2):
        ...     with profiler.scope("training"):
        ...         y.forward(function_pre_hook=profiler.pre_hook, function_post_hook=profiler.post_hook)
        ...     profiler.calc_elapsed_time(["training", "summary"])
        >>> [len(times) for times in profiler.get_all_results()["training"].values()]
        [2, 2]

    Source: `nnabla.utils.inspection.TimeProfiler` of nnabla 1.39.0.
    """

    def __init__(self, ext_name: str, device_id: str | int):
        if ext_name not in ("cpu", "cuda", "cudnn"):
            raise NotImplementedError(f"TimeProfiler: ext_name must be cpu, cuda or cudnn, got {ext_name!r}")
        self.ext_name = ext_name
        self.device_id = device_id
        self.profilers = {}
        self._scope_name = ""
        self.create_new_profiler("summary")

    def create_new_profiler(self, scope_name: str) -> None:
        """Creates the scope `scope_name`; discards its times if it exists."""
        self.profilers[scope_name] = CpuTimerCallback(self.ext_name, self.device_id)

    @contextmanager
    def scope(self, scope_name: str) -> Iterator[TimeProfiler]:
        """A context manager in which the hooks record times in the scope `scope_name`."""
        if scope_name not in self.profilers:
            self.create_new_profiler(scope_name)
        previous, self._scope_name = self._scope_name, scope_name
        self.call_pre_hook("summary", scope_name)
        try:
            yield self
        finally:
            self._scope_name = previous
            self.call_post_hook("summary", scope_name)

    @property
    def pre_hook(self) -> Callable[[Hashable], None]:
        """The hook for `function_pre_hook`; raises KeyError outside `scope`."""
        return self.profilers[self._scope_name].pre_hook

    @property
    def post_hook(self) -> Callable[[Hashable], None]:
        """The hook for `function_post_hook`; raises KeyError outside `scope`."""
        return self.profilers[self._scope_name].post_hook

    def call_pre_hook(self, scope_name: str, key: Hashable) -> None:
        """Records the start time for `key` in a scope, which is created if it does not exist."""
        if scope_name not in self.profilers:
            self.create_new_profiler(scope_name)
        self.profilers[scope_name].pre_hook(key)

    def call_post_hook(self, scope_name: str, key: Hashable) -> None:
        """Records the end time for `key` in a scope. Raises ValueError if the scope or the start time does not
        exist."""
        if scope_name not in self.profilers:
            raise ValueError(f"call_post_hook: there is no scope {scope_name!r}")
        self.profilers[scope_name].post_hook(key)

    def calc_elapsed_time(self, names: str | list[str] | None = None) -> None:
        """Appends the last times of the scopes `names` (None: of all) to their results. Raises KeyError for an unknown
        scope."""
        names = [names] if isinstance(names, str) else self.profilers if names is None else names
        for name in names:
            self.profilers[name].calc_elapsed_time()

    def average(self, start_index: int = 0) -> dict[str, dict[Hashable, dict[str, Any]]]:
        """The results of `CpuTimerCallback.average` by scope."""
        return {name: profiler.average(start_index) for name, profiler in self.profilers.items()}

    def get_all_results(self) -> dict[str, dict[Hashable, list[float]]]:
        """All times in seconds, by scope and function, without scopes that have no times."""
        return {name: profiler.results for name, profiler in self.profilers.items() if profiler.results}

    def to_csv(self, out_dir: str = "./", ignore_init: bool = True) -> None:
        """Writes the mean times to profile_summary.csv and profile_detail.csv in `out_dir`, which is created if it does
        not exist.

        With `ignore_init`, leaves out the first iteration.
        """
        os.makedirs(out_dir, exist_ok=True)
        means = self.average(1 if ignore_init else 0)
        summary = [{**result, "scope": scope} for scope, result in means.pop("summary").items()]
        _write(out_dir, "profile_summary.csv", ["scope", "time", "scale", "num"], summary)
        # numbers the functions that have the same name
        rows, seen = {}, Counter()
        for scope, results in means.items():
            for key, result in results.items():
                if key not in rows:
                    rows[key] = {"scope": f"{key}_{seen[str(key)]}", "original_key": key}
                    seen[str(key)] += 1
                rows[key].update({f"{name}_{scope}": value for name, value in result.items()})
        columns = dict.fromkeys(["scope", "original_key", *(name for row in rows.values() for name in row)])
        _write(out_dir, "profile_detail.csv", list(columns), rows.values())

    def __call__(self):
        """Prints the mean times, without the first iteration."""
        for name, results in self.average(1).items():
            if results:
                print(f"### {name} ###")
                for key, result in results.items():
                    print(f"{key}: {result['time']} [{result['scale']}]")
                print()


def _write(folder, name, columns, rows):
    with replacing(os.path.join(folder, name), "w") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
