"""How long functions take in the passes of a program."""

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
    """Measures times between the calls of two hooks with the same key, for which it waits until the device is idle.

    Args:
        ext_name: the back end that is waited for: "cpu", "cuda" or "cudnn".
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
        """A time in seconds, from no fixed start."""
        return time.perf_counter()

    def _idle(self):
        self.ext_module.synchronize(device_id=self.device_id)
        return self.timer()

    @property
    def pre_hook(self) -> Callable[[Hashable], None]:
        """Starts the time of a key."""

        def start(key):
            self.key_to_times[key] = [self._idle(), None]

        return start

    @property
    def post_hook(self) -> Callable[[Hashable], None]:
        """Ends the time of a key; ValueError where it was not started."""

        def end(key):
            if key not in self.key_to_times:
                raise ValueError(f"post_hook: {key!r} was not started by pre_hook")
            self.key_to_times[key][1] = self._idle()

        return end

    def calc_elapsed_time(self) -> None:
        """Adds the last time of each key to the list in `results`."""
        for key, (start, end) in self.key_to_times.items():
            self.results.setdefault(key, []).append(end - start)

    def average(self, start_index: int = 0) -> dict[Hashable, dict[str, Any]]:
        """The mean times from number `start_index` on: dicts of "time", "num" (of times) and "scale", "ms", by key."""
        return {
            key: {"time": numpy.mean(times[start_index:]) * 1e3, "num": len(times) - start_index, "scale": "ms"}
            for key, times in self.results.items()
        }


class TimeProfiler(FunctionHookCallbackBase):
    """Gives hooks that measure each function, under scopes that a program names.

    The scope "summary" has the times of the scopes themselves. Called, it prints the mean times without the first
    iteration.

    Args:
        ext_name: "cpu", "cuda" or "cudnn"; NotImplementedError for another.
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
        """Starts the scope `scope_name` anew; its times are forgotten."""
        self.profilers[scope_name] = CpuTimerCallback(self.ext_name, self.device_id)

    @contextmanager
    def scope(self, scope_name: str) -> Iterator[TimeProfiler]:
        """Inside the `with` block the hooks measure for the scope `scope_name`."""
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
        """The hook for `function_pre_hook`; KeyError outside a scope."""
        return self.profilers[self._scope_name].pre_hook

    @property
    def post_hook(self) -> Callable[[Hashable], None]:
        """The hook for `function_post_hook`; KeyError outside a scope."""
        return self.profilers[self._scope_name].post_hook

    def call_pre_hook(self, scope_name: str, key: Hashable) -> None:
        """Starts the time of `key` in a scope, which is made where it is missing."""
        if scope_name not in self.profilers:
            self.create_new_profiler(scope_name)
        self.profilers[scope_name].pre_hook(key)

    def call_post_hook(self, scope_name: str, key: Hashable) -> None:
        """Ends the time of `key` in a scope; ValueError where there is no such scope or `key` was not started in it."""
        if scope_name not in self.profilers:
            raise ValueError(f"call_post_hook: there is no scope {scope_name!r}")
        self.profilers[scope_name].post_hook(key)

    def calc_elapsed_time(self, names: str | list[str] | None = None) -> None:
        """Records the last times of the scopes `names`, None for all; KeyError where there is no such scope."""
        names = [names] if isinstance(names, str) else self.profilers if names is None else names
        for name in names:
            self.profilers[name].calc_elapsed_time()

    def average(self, start_index: int = 0) -> dict[str, dict[Hashable, dict[str, Any]]]:
        """What `CpuTimerCallback.average` gives, of each scope."""
        return {name: profiler.average(start_index) for name, profiler in self.profilers.items()}

    def get_all_results(self) -> dict[str, dict[Hashable, list[float]]]:
        """All times in seconds, by scope and function; scopes without times are left out."""
        return {name: profiler.results for name, profiler in self.profilers.items() if profiler.results}

    def to_csv(self, out_dir: str = "./", ignore_init: bool = True) -> None:
        """Writes the mean times to profile_summary.csv and profile_detail.csv in `out_dir`, which is made where it is
        missing.

        `ignore_init` leaves the first iteration out.
        """
        os.makedirs(out_dir, exist_ok=True)
        means = self.average(1 if ignore_init else 0)
        summary = [{**result, "scope": scope} for scope, result in means.pop("summary").items()]
        _write(out_dir, "profile_summary.csv", ["scope", "time", "scale", "num"], summary)
        # functions of one name are told apart by numbers
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
        """Prints the mean times, the first iteration left out."""
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
