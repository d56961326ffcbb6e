"""Collects the values that links and training loops report. Mirrors ``chainer.reporter``."""

from __future__ import annotations

import collections
import contextlib  # noqa: F401  programs find it here, as in Chainer
import copy
import json
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy

from compatgrad import _C
from compatgrad.chainer import backend
from compatgrad.chainer.configuration import config
from compatgrad.chainer.serializer import Serializer
from compatgrad.core.configuration import scope as block

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from compatgrad.chainer.serializer import AbstractSerializer


class _ThreadState(threading.local):
    def __init__(self):
        self.reporters = []


_thread_local = _ThreadState()


class Reporter(_C.Scope):
    """Holds `observation`, a dictionary of reported values, and the names of the objects that report.

    Inside `with reporter:` it is the current one of the thread.

    Example:
        >>> reporter, observer = chainer.Reporter(), L.Linear(1, 1)
        >>> reporter.add_observer("model", observer)
        >>> with reporter:
        ...     chainer.report({"loss": 0.5}, observer)
        >>> reporter.observation
        {'model/loss': 0.5}

    Source: `chainer.Reporter` of Chainer 7.8.1.
    """

    def __init__(self) -> None:
        self._observer_names = {}
        self.observation = {}

    def _settings(self):
        return {}, ((_thread_local, "reporters", [*_thread_local.reporters, self]),), None

    def __getstate__(self):
        return self.__dict__

    def scope(self, observation: dict[str, Any]) -> block:
        """Inside the ``with`` block this is the current reporter, and values go to the dictionary
        `observation`.
        """

        def settings():
            modes, reporters, _ = self._settings()
            return modes, (*reporters, (self, "observation", observation)), None

        return block(settings)

    def add_observer(self, name: str, observer: Any) -> None:
        """Registers an object, which is compared by identity, with a name that is put before the keys that it
        reports."""
        self._observer_names[id(observer)] = name

    def add_observers(self, prefix: str, observers: Iterable[tuple[str, Any]]) -> None:
        """Registers objects with the names ``prefix + name``; `observers` are pairs (name, object)."""
        for name, observer in observers:
            self.add_observer(prefix + name, observer)

    def report(self, values: dict[str, Any], observer: Any = None) -> None:
        """Stores the dictionary `values`, with the name of `observer` before each key where one is given.

        Variables are stored without their graph unless ``config.keep_graph_on_report``.
        Raises KeyError for an observer without a name.
        """
        if not config.keep_graph_on_report:
            values = {k: copy.copy(v) if isinstance(v, _C.Variable) else v for k, v in values.items()}
        if observer is not None:
            if id(observer) not in self._observer_names:
                raise KeyError(f"Given observer is not registered to the reporter: {type(observer)}")
            name = self._observer_names[id(observer)]
            values = {f"{name}/{k}": v for k, v in values.items()}
        self.observation.update(values)


def get_current_reporter() -> Reporter:
    """The current reporter of the thread. Raises IndexError if there is none.

    Returns:
        Reporter.

    Example:
        >>> with chainer.Reporter():
        ...     type(chainer.get_current_reporter()).__name__
        'Reporter'

    Source: `chainer.get_current_reporter` of Chainer 7.8.1.
    """
    return _thread_local.reporters[-1]


def report(values: dict[str, Any], observer: Any = None) -> None:
    """Calls `report` of the thread's current reporter; does nothing where there is none.

    Args:
        values: dictionary of numbers, arrays or Variables, which are stored without their graph unless the
            configuration's `keep_graph_on_report` is True.
        observer: object with a name in the reporter, which is put before the keys; None adds no name.

    Raises:
        KeyError: the reporter has no name for `observer`.

    Example:
        >>> reporter = chainer.Reporter()
        >>> with reporter:
        ...     chainer.report({"loss": 0.5})
        >>> reporter.observation
        {'loss': 0.5}

    Source: `chainer.report` of Chainer 7.8.1.
    """
    reporters = _thread_local.reporters
    if reporters:
        reporters[-1].report(values, observer)


def report_scope(observation: dict[str, Any]) -> AbstractContextManager[None]:
    """A context manager inside which the current reporter stores values in the caller's dictionary.

    Args:
        observation: the dictionary.

    Returns:
        A context manager.

    Raises:
        IndexError: the thread has no current reporter.

    Example:
        >>> observation = {}
        >>> with chainer.Reporter(), chainer.report_scope(observation):
        ...     chainer.report({"loss": 0.5})
        >>> observation
        {'loss': 0.5}

    Source: `chainer.report_scope` of Chainer 7.8.1.
    """
    reporter = get_current_reporter()
    return block(lambda: ({}, ((reporter, "observation", observation),), None))


class Summary:
    """Mean and standard deviation of scalars, updated with each scalar that is added.

    Example:
        >>> summary = chainer.Summary()
        >>> for value in (1.0, 3.0):
        ...     summary.add(value)
        >>> mean, deviation = summary.make_statistics()
        >>> float(mean), float(deviation)
        (2.0, 1.0)

    Source: `chainer.Summary` of Chainer 7.8.1.
    """

    def __init__(self) -> None:
        self._x = 0.0
        self._x2 = 0.0
        self._n = 0

    def add(self, value: Any, weight: Any = 1) -> None:
        """Adds a scalar or 0-dimensional array, counted `weight` times."""
        if isinstance(weight, (int, float)):
            value = _in_double(value)
        with _device_of(value):
            self._x += _in_double(weight * value)
            self._x2 += _in_double(weight * value * value)
            self._n += _in_double(weight)

    def compute_mean(self) -> Any:
        """The mean."""
        with _device_of(self._x):
            return self._x / self._n

    def make_statistics(self) -> tuple[Any, Any]:
        """The mean and the standard deviation."""
        x, n = self._x, self._n
        with _device_of(x):
            mean = x / n
            return mean, backend.get_array_module(x).sqrt(self._x2 / n - mean * mean)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the sums; warns if the file contains none."""
        try:
            self._x = serializer("_x", self._x)
            self._x2 = serializer("_x2", self._x2)
            self._n = serializer("_n", self._n)
        except KeyError:
            warnings.warn("The previous statistics are not saved.", stacklevel=2)


def _in_double(value: Any) -> Any:
    """A scalar of NumPy with the 64 bits that NumPy 1 gave to its sum with a Python number.

    NumPy 2 keeps the scalar's own type: a sum of float32 losses would lose digits, one of int8 numbers overflow.
    """
    if isinstance(value, (numpy.generic, numpy.ndarray)) and not value.ndim and value.dtype.itemsize < 8:
        wide = {"f": numpy.float64, "i": numpy.int64, "u": numpy.int64}.get(value.dtype.kind)
        if wide is not None:
            return wide(value)
    return value


def _device_of(value):
    return backend.get_device_from_array(value).create_context()


def _is_scalar(value):
    return numpy.isscalar(value) or getattr(value, "ndim", -1) == 0


def _array(value):
    return value.array if isinstance(value, _C.Variable) else value


class DictSummary:
    """A `Summary` for every key of dictionaries of scalars.

    Example:
        >>> summary = chainer.DictSummary()
        >>> summary.add({"loss": 1.0})
        >>> summary.add({"loss": 4.0, "accuracy": 0.5})
        >>> summary.compute_mean()
        {'loss': 2.5, 'accuracy': 0.5}

    Source: `chainer.DictSummary` of Chainer 7.8.1.
    """

    def __init__(self) -> None:
        self._summaries = collections.defaultdict(Summary)

    def add(self, d: Mapping[str, Any]) -> None:
        """Adds the scalars, 0-dimensional arrays and Variables in `d`; other values are skipped.

        A tuple is a value and its weight. Raises ValueError for a weight that is no scalar.
        """
        for key, value in d.items():
            weight = 1
            if isinstance(value, tuple):
                value, weight = value[0], _array(value[1])
                if not _is_scalar(weight):
                    raise ValueError(f"Given weight to {key} was not scalar.")
            value = _array(value)
            if _is_scalar(value):
                self._summaries[key].add(value, weight=weight)

    def compute_mean(self) -> dict[str, Any]:
        """A dictionary of the means."""
        return {name: summary.compute_mean() for name, summary in self._summaries.items()}

    def make_statistics(self) -> dict[str, Any]:
        """A dictionary of the means, ``key``, and standard deviations, ``key.std``."""
        stats = {}
        for name, summary in self._summaries.items():
            stats[name], stats[name + ".std"] = summary.make_statistics()
        return stats

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads all summaries; warns if the file contains none."""
        if isinstance(serializer, Serializer):
            names = list(self._summaries)
            serializer("_names", json.dumps(names))
        else:
            try:
                names = json.loads(serializer("_names", ""))
            except KeyError:
                self._summaries.clear()
                warnings.warn("The names of statistics are not saved.", stacklevel=2)
                return
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError(f"DictSummary: expected a list of names in '_names', found {str(names)[:80]}")
            self._summaries.clear()
        for index, name in enumerate(names):
            self._summaries[name].serialize(serializer["_summaries"][str(index)])
