"""Statistics of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.chainer import backend, reporter
from compatgrad.chainer.backend import get_array_types
from compatgrad.chainer.training import extension
from compatgrad.chainer.training import trigger as trigger_module

if TYPE_CHECKING:
    from compatgrad.chainer.link import Link
    from compatgrad.chainer.training.trainer import Trainer

_PERCENTILES = (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)


def _xp_function(name, *args):
    return lambda x: getattr(backend.get_array_module(x), name)(x, *args)


class ParameterStatistics(extension.Extension):
    """Reports statistics of the parameters of links and of their gradients, as means over an interval. A name is made
    of the prefix, the link's name, the parameter's name, "data" or "grad", the statistic's name, and a number where the
    statistic has several values.

    Args:
        links: a link or several.
        statistics: functions of a vector that return a number or several, by their names; "default" is "mean", "std",
            "min", "max", "zeros" (the number of zeros) and "percentile".
        report_params: whether to report statistics of the parameters.
        report_grads: whether to report statistics of the gradients.
        prefix: prefix of the names.
        trigger: the interval, a trigger or a pair of number and unit.
        skip_nan_params: True reports NaN, without computing the statistic, where a parameter contains NaN.

    Example:
        >>> from types import SimpleNamespace
        >>> statistics = chainer.training.extensions.ParameterStatistics(
        ...     L.Linear(2, 1, initialW=3), {"max": np.max}, report_grads=False, trigger=(1, "iteration"))
        >>> reporter = chainer.Reporter()
        >>> with reporter:
        ...     statistics(SimpleNamespace(updater=SimpleNamespace(iteration=1)))
        >>> {name: float(value) for name, value in reporter.observation.items()}
        {'None/W/data/max': 3.0, 'None/b/data/max': 0.0}

    Source: `chainer.training.extensions.ParameterStatistics` of Chainer 7.8.1.
    """

    default_name = "parameter_statistics"
    priority = extension.PRIORITY_WRITER
    report_key_template = "{prefix}{link_name}{param_name}/{attr_name}/{function_name}"
    default_statistics = {
        "mean": _xp_function("mean"),
        "std": _xp_function("std"),
        "min": _xp_function("min"),
        "max": _xp_function("max"),
        "zeros": lambda x: backend.get_array_module(x).count_nonzero(x == 0),
        "percentile": _xp_function("percentile", _PERCENTILES),
    }

    def __init__(
        self,
        links: Link | Sequence[Link],
        statistics: dict[str, Callable[[Any], Any]] | str | None = "default",
        report_params: bool = True,
        report_grads: bool = True,
        prefix: str | None = None,
        trigger: Any = (1, "epoch"),
        skip_nan_params: bool = False,
    ) -> None:
        self._links = links if isinstance(links, (list, tuple)) else (links,)
        self._statistics = dict(self.default_statistics if statistics == "default" else statistics or {})
        self._attrs = [name for name, given in (("data", report_params), ("grad", report_grads)) if given]
        self._prefix = prefix
        self._trigger = trigger_module.get_trigger(trigger)
        self._summary = reporter.DictSummary()
        self._skip_nan_params = skip_nan_params

    def __call__(self, trainer: Trainer) -> None:
        statistics = {}
        for link in self._links:
            for param_name, param in link.namedparams():
                for attr_name in self._attrs:
                    x = getattr(param, attr_name).ravel()
                    statistics.update(self._compute(link, param_name, attr_name, x))
        self._summary.add(statistics)
        if self._trigger(trainer):
            reporter.report(self._summary.compute_mean())
            self._summary = reporter.DictSummary()

    def _compute(self, link, param_name, attr_name, x):
        is_nan = self._skip_nan_params and backend.get_array_module(x).isnan(x).any()
        for function_name, function in self._statistics.items():
            value = np.nan if is_nan else function(x)
            key = self.report_key_template.format(
                prefix=f"{self._prefix}/" if self._prefix else "",
                link_name=getattr(link, "name", "None"),
                param_name=param_name,
                attr_name=attr_name,
                function_name=function_name,
            )
            if isinstance(value, get_array_types()) and value.size > 1:
                yield from ((f"{key}/{i}", v) for i, v in enumerate(value))
            else:
                yield key, value

    def register_statistics(self, name: str, function: Callable[[Any], Any]) -> None:
        """Adds a function of a vector that returns a number or several."""
        self._statistics[name] = function
