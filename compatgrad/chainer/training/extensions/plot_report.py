"""An extension that plots observed values."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.chainer import reporter
from compatgrad.chainer import serializer as serializer_module
from compatgrad.chainer.training import extension
from compatgrad.chainer.training import trigger as trigger_module
from compatgrad.chainer.utils import argument
from compatgrad.core.files import in_folder_beside

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


@functools.cache
def _is_matplotlib_installed():
    return importlib.util.find_spec("matplotlib") is not None


def _check_available():
    """Whether matplotlib is installed; warns if it is not."""
    available = _is_matplotlib_installed()
    if not available:
        warnings.warn(
            "matplotlib is not installed on your environment, so nothing will be plotted at this "
            "time. Please install matplotlib to plot figures.\n\n  $ pip install matplotlib\n",
            stacklevel=3,
        )
    return available


class PlotReport(extension.Extension):
    """Plots the means of observed values over intervals to a file. It needs matplotlib, and warns if that is missing.

    Args:
        y_keys: name or names of the values.
        x_key: name of the value on the x axis: "iteration", "epoch" or an observed value.
        trigger: the interval, a trigger or a pair of number and unit.
        postprocess: called with the figure, the axes and the `DictSummary` before the plot is saved.
        filename: name of the file in the trainer's output folder; None is "plot.png".
        marker: marker of the points, as matplotlib's.
        grid: whether to draw a grid.
        **kwargs: `file_name`: old name of `filename`.

    Raises:
        KeyError: when the extension is called, `x_key` is not known.
        TypeError: another keyword is given.

    Example:
        >>> from compatgrad.chainer import testing
        >>> report = chainer.training.make_extension(priority=300)(lambda trainer: chainer.report({"loss": 3.0}))
        >>> plot = chainer.training.extensions.PlotReport("loss", trigger=(2, "iteration"))
        >>> testing.get_trainer_with_mock_updater((4, "iteration"), extensions=[report, plot]).run()

    Source: `chainer.training.extensions.PlotReport` of Chainer 7.8.1.
    """

    def __init__(
        self,
        y_keys: str | Sequence[str],
        x_key: str = "iteration",
        trigger: Any = (1, "epoch"),
        postprocess: Callable[[Any, Any, Any], None] | None = None,
        filename: str | None = None,
        marker: str = "x",
        grid: bool = True,
        **kwargs: Any,
    ) -> None:
        (file_name,) = argument.parse_kwargs(kwargs, ("file_name", "plot.png"))
        _check_available()
        self._x_key = x_key
        self._y_keys = (y_keys,) if isinstance(y_keys, str) else y_keys
        self._trigger = trigger_module.get_trigger(trigger)
        self._file_name = file_name if filename is None else filename
        self._marker = marker
        self._grid = grid
        self._postprocess = postprocess
        self._init_summary()
        self._data = {k: [] for k in self._y_keys}

    @staticmethod
    def available() -> bool:
        """Whether matplotlib is installed."""
        return _check_available()

    def __call__(self, trainer: Trainer) -> None:
        if not self.available():
            return
        observation = trainer.observation
        self._summary.add({k: observation[k] for k in self._y_keys if k in observation})
        if trainer.is_before_training or self._trigger(trainer):
            values = {name: float(value) for name, value in self._summary.compute_mean().items()}
            values["epoch"] = trainer.updater.epoch
            values["iteration"] = trainer.updater.iteration
            for k in self._y_keys:
                if k in values:
                    self._data[k].append((values[self._x_key], values[k]))
            self._plot(os.path.join(trainer.out, self._file_name))
            self._init_summary()

    def _plot(self, path):
        # matplotlib is imported this late because a program may choose its backend after the import of this module.
        import matplotlib.pyplot as plt

        figure = plt.figure()
        axes = figure.add_subplot(111)
        axes.set_xlabel(self._x_key)
        if self._grid:
            axes.grid()
        for k in self._y_keys:
            if self._data[k]:
                x, y = np.array(self._data[k]).T
                axes.plot(x, y, marker=self._marker, label=k)
        if axes.has_data():
            if self._postprocess is not None:
                self._postprocess(figure, axes, self._summary)
            legend = axes.legend(bbox_to_anchor=(1.05, 1), loc=2, borderaxespad=0.0)
            with in_folder_beside(path) as name:
                figure.savefig(name, bbox_extra_artists=(legend,), bbox_inches="tight")
        plt.close(figure)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the points."""
        key = f"_plot_{self._file_name}"
        if isinstance(serializer, serializer_module.Serializer):
            serializer(key, json.dumps(self._data))
        else:
            self._data = json.loads(serializer(key, ""))

    def _init_summary(self):
        self._summary = reporter.DictSummary()
