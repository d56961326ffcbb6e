"""Statistics of parameters."""

import numpy as np

from compatgrad.chainer import backend, reporter
from compatgrad.chainer.backend import get_array_types
from compatgrad.chainer.training import extension
from compatgrad.chainer.training import trigger as trigger_module

_PERCENTILES = (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)


def _xp_function(name, *args):
    return lambda x: getattr(backend.get_array_module(x), name)(x, *args)


class ParameterStatistics(extension.Extension):
    """Reports statistics of the parameters of links and of their gradients, as means over an interval.

    `links`: a link or several. `statistics`: dict from names to functions of a vector that return a number
    or several, or "default": mean, std, min, max, zeros (their number) and percentile. `report_params`,
    `report_grads`: of what. `prefix`: of the names, which are link, parameter, "data" or "grad", statistic,
    and number where there are several. `trigger`: the interval. `skip_nan_params`: report NaN for
    parameters that contain one.
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
        links,
        statistics="default",
        report_params=True,
        report_grads=True,
        prefix=None,
        trigger=(1, "epoch"),
        skip_nan_params=False,
    ):
        self._links = links if isinstance(links, (list, tuple)) else (links,)
        self._statistics = dict(self.default_statistics if statistics == "default" else statistics or {})
        self._attrs = [name for name, given in (("data", report_params), ("grad", report_grads)) if given]
        self._prefix = prefix
        self._trigger = trigger_module.get_trigger(trigger)
        self._summary = reporter.DictSummary()
        self._skip_nan_params = skip_nan_params

    def __call__(self, trainer):
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

    def register_statistics(self, name, function):
        """Add a function of a vector that returns a number or several."""
        self._statistics[name] = function
