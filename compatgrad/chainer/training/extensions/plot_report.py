"""Plots of a training."""

import functools
import importlib.util
import json
import os
import warnings

import numpy as np

from compatgrad.chainer import reporter
from compatgrad.chainer import serializer as serializer_module
from compatgrad.chainer.training import extension
from compatgrad.chainer.training import trigger as trigger_module
from compatgrad.chainer.utils import argument


@functools.cache
def _is_matplotlib_installed():
    return importlib.util.find_spec("matplotlib") is not None


def _check_available():
    """Whether matplotlib is installed; warns where it is not."""
    available = _is_matplotlib_installed()
    if not available:
        warnings.warn(
            "matplotlib is not installed on your environment, so nothing will be plotted at this "
            "time. Please install matplotlib to plot figures.\n\n  $ pip install matplotlib\n",
            stacklevel=3,
        )
    return available


class PlotReport(extension.Extension):
    """Plots the means of observed values over intervals to a file. Needs matplotlib, and warns without.

    `y_keys`: name or names of the values. `x_key`: "iteration", "epoch" or one of them. `trigger`: the
    interval. `postprocess`: called with figure, axes and `DictSummary` before saving. `filename`: name of
    the file in the trainer's output folder; ``file_name`` is an old name of it. `marker`, `grid`: looks of
    the plot.
    """

    def __init__(
        self,
        y_keys,
        x_key="iteration",
        trigger=(1, "epoch"),
        postprocess=None,
        filename=None,
        marker="x",
        grid=True,
        **kwargs,
    ):
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
    def available():
        """Whether matplotlib is installed."""
        return _check_available()

    def __call__(self, trainer):
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
        # Not before: a program may choose matplotlib's backend after the import of this module.
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
            figure.savefig(path, bbox_extra_artists=(legend,), bbox_inches="tight")
        plt.close(figure)

    def serialize(self, serializer):
        key = f"_plot_{self._file_name}"
        if isinstance(serializer, serializer_module.Serializer):
            serializer(key, json.dumps(self._data))
        else:
            self._data = json.loads(serializer(key, ""))

    def _init_summary(self):
        self._summary = reporter.DictSummary()
