"""Plots of statistics of variables."""

import os

import numpy as np

from compatgrad.chainer import backend
from compatgrad.chainer.link import Link
from compatgrad.chainer.training import extension
from compatgrad.chainer.training import trigger as trigger_module
from compatgrad.chainer.training.extensions import plot_report
from compatgrad.chainer.utils import argument
from compatgrad.chainer.variable import Variable

_COLOR = (0x1F / 255, 0x77 / 255, 0xB4 / 255)
_COLOR_TRANSPARENT = (*_COLOR, 0.2)


def _unpack_variables(x):
    if isinstance(x, Variable):
        return (x,)
    if isinstance(x, Link):
        return tuple(x.params(include_uninit=True))
    if isinstance(x, (list, tuple)):
        return tuple([variable for element in x for variable in _unpack_variables(element)])
    return ()


class Reservoir:
    """A uniform random sample of at most `size` arrays out of all that were added."""

    def __init__(self, size, data_shape, dtype=np.float32):
        self.size = size
        self.data = np.zeros((size, *data_shape), dtype=dtype)
        self.idxs = np.zeros((size,), dtype=np.int32)
        self.counter = 0

    def add(self, x, idx=None):
        """Add an array under a number, by default a running one."""
        place = self.counter
        if self.counter >= self.size:
            keep = np.random.random() < self.size / (self.counter + 1)
            place = np.random.randint(self.size) if keep else None
        if place is not None:
            self.data[place] = x
            self.idxs[place] = idx or self.counter
        self.counter += 1

    def get_data(self):
        """Return the numbers, sorted, and the arrays."""
        idxs = self.idxs[: min(self.counter, self.size)]
        order = np.argsort(idxs)
        return idxs[order], self.data[order]


class Statistician:
    """Computes mean, standard deviation and percentiles of an array along `axis`, as a dict."""

    def __init__(self, collect_mean, collect_std, percentile_sigmas):
        self.collect_mean = collect_mean
        self.collect_std = collect_std
        self.percentile_sigmas = percentile_sigmas

    def __call__(self, x, axis=0, dtype=None, xp=None):
        if axis is None:
            axis = tuple(range(x.ndim))
        elif not isinstance(axis, (tuple, list)):
            axis = (axis,)
        return self.collect(x, axis)

    def collect(self, x, axis):
        """Compute the statistics along a tuple of axes."""
        out = {}
        if self.collect_mean:
            out["mean"] = x.mean(axis=axis)
        if self.collect_std:
            out["std"] = x.std(axis=axis)
        if self.percentile_sigmas:
            out["percentile"] = backend.get_array_module(x).percentile(x, self.percentile_sigmas, axis=axis)
        return out


class VariableStatisticsPlot(extension.Extension):
    """Plots statistics of the elements of Variables against the iteration. Warns without matplotlib.

    `targets`: a Variable, a link or a list of them. `max_sample_size`: number of iterations kept, a random
    sample. `report_data`, `report_grad`: of what. `plot_mean`, `plot_std`, `percentile_sigmas`: the
    statistics. `trigger`: when to plot. `filename`: name of the file in the trainer's output folder;
    ``file_name`` is an old name of it. `figsize`, `marker`, `grid`: looks of the plot. Raises ValueError
    where there is nothing to plot.
    """

    def __init__(
        self,
        targets,
        max_sample_size=1000,
        report_data=True,
        report_grad=True,
        plot_mean=True,
        plot_std=True,
        percentile_sigmas=(0, 0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87, 100),
        trigger=(1, "epoch"),
        filename=None,
        figsize=None,
        marker=None,
        grid=True,
        **kwargs,
    ):
        (file_name,) = argument.parse_kwargs(kwargs, ("file_name", "statistics.png"))
        self._vars = _unpack_variables(targets)
        if not self._vars:
            raise ValueError("Need at least one variables for which to collect statistics.\nActual: 0 <= 0")
        if not (plot_mean or plot_std or percentile_sigmas):
            raise ValueError("Nothing to plot")
        self._keys = [name for name, given in (("data", report_data), ("grad", report_grad)) if given]
        self._statistician = Statistician(plot_mean, plot_std, percentile_sigmas)
        self._plot_mean = plot_mean
        self._plot_std = plot_std
        self._plot_percentile = bool(percentile_sigmas)
        self._trigger = trigger_module.get_trigger(trigger)
        self._filename = file_name if filename is None else filename
        self._figsize = figsize
        self._marker = marker
        self._grid = grid
        n_percentiles = np.size(percentile_sigmas) if self._plot_percentile else 0
        self._data_shape = (len(self._keys), int(plot_mean) + int(plot_std) + n_percentiles)
        self._samples = Reservoir(max_sample_size, self._data_shape)

    @staticmethod
    def available():
        """Whether matplotlib is installed."""
        return plot_report._check_available()

    def __call__(self, trainer):
        if not self.available():
            return
        # Not before: a program may choose matplotlib's backend after the import of this module.
        import matplotlib.pyplot as plt

        xp = backend.get_array_module(self._vars[0].data)
        stats = xp.zeros(self._data_shape, dtype=xp.float32)
        for i, key in enumerate(self._keys):
            arrays = [getattr(variable, key, None) for variable in self._vars]
            arrays = [x.ravel() for x in arrays if x is not None]
            if arrays:
                values = self._statistician(xp.concatenate(arrays))
                stats[i] = xp.concatenate([xp.atleast_1d(value) for value in values.values()])
        self._samples.add(backend.CpuDevice().send(stats), idx=trainer.updater.iteration)
        if self._trigger(trainer):
            self.save_plot_using_module(os.path.join(trainer.out, self._filename), plt)

    def save_plot_using_module(self, file_path, plt):
        """Plot with a module like ``matplotlib.pyplot``."""
        n_rows = int(self._plot_mean or self._plot_std) + int(self._plot_percentile)
        fig, axes = plt.subplots(n_rows, len(self._keys), figsize=self._figsize, sharex=True, squeeze=False)
        idxs, data = self._samples.get_data()
        for column, key in enumerate(self._keys):
            axes[0, column].set_title(key)
            if self._plot_mean or self._plot_std:
                self._plot_moments(axes[0, column], idxs, data[:, column])
            if self._plot_percentile:
                offset = int(self._plot_mean) + int(self._plot_std)
                self._plot_percentiles(axes[-1, column], idxs, data[:, column, offset:])
        for ax in axes.ravel():
            ax.legend()
            if self._grid:
                ax.grid()
                ax.set_axisbelow(True)
        fig.savefig(file_path)
        plt.close()

    def _plot_moments(self, ax, idxs, data):
        if self._plot_mean and self._plot_std:
            ax.errorbar(
                idxs,
                data[:, 0],
                data[:, 1],
                color=_COLOR,
                ecolor=_COLOR_TRANSPARENT,
                label="mean, std",
                marker=self._marker,
            )
        else:
            ax.plot(idxs, data[:, 0], color=_COLOR, label="mean" if self._plot_mean else "std", marker=self._marker)

    def _plot_percentiles(self, ax, idxs, data):
        """Bands between the first and the last, the second and the last but one, …; a line in the middle."""
        n = data.shape[1]
        for i in range((n + 1) // 2):
            last = i == (n - 1) // 2
            label = "percentile" if last else "_nolegend_"
            if last and n % 2 == 1:
                ax.plot(idxs, data[:, i], color=_COLOR, label=label, marker=self._marker)
            else:
                ax.fill_between(
                    idxs, data[:, i], data[:, n - 1 - i], label=label, alpha=0.2, linewidth=0, color=_COLOR_TRANSPARENT
                )
        ax.set_xlabel("iteration")
