"""An extension that plots statistics of Variables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.chainer import backend
from compatgrad.chainer.link import Link
from compatgrad.chainer.training import extension
from compatgrad.chainer.training import trigger as trigger_module
from compatgrad.chainer.training.extensions import plot_report
from compatgrad.chainer.utils import argument
from compatgrad.chainer.variable import Variable
from compatgrad.core.files import in_folder_beside

if TYPE_CHECKING:
    from compatgrad.chainer.training.trainer import Trainer

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
    """A uniform random sample of the arrays that were added, with their indices.

    Args:
        size: greatest number of arrays kept.
        data_shape: shape of the arrays.
        dtype: dtype of the arrays.

    Example:
        >>> reservoir = chainer.training.extensions.variable_statistics_plot.Reservoir(3, (2,))
        >>> reservoir.add(np.array([1, 2]))
        >>> reservoir.get_data()
        (array([0], dtype=int32), array([[1., 2.]], dtype=float32))

    Source: `chainer.training.extensions.variable_statistics_plot.Reservoir` of Chainer 7.8.1.
    """

    def __init__(self, size: int, data_shape: tuple[int, ...], dtype: Any = np.float32) -> None:
        self.size = size
        self.data = np.zeros((size, *data_shape), dtype=dtype)
        self.idxs = np.zeros((size,), dtype=np.int32)
        self.counter = 0

    def add(self, x: Any, idx: int | None = None) -> None:
        """Adds an array with an index, by default the number of arrays added before."""
        place = self.counter
        if self.counter >= self.size:
            keep = np.random.random() < self.size / (self.counter + 1)
            place = np.random.randint(self.size) if keep else None
        if place is not None:
            self.data[place] = x
            self.idxs[place] = idx or self.counter
        self.counter += 1

    def get_data(self) -> tuple[np.ndarray, np.ndarray]:
        """The indices in ascending order, and the arrays in this order."""
        idxs = self.idxs[: min(self.counter, self.size)]
        order = np.argsort(idxs)
        return idxs[order], self.data[order]


class Statistician:
    """Computes statistics of an array along axes: a function of the array and `axis` that returns a dict.

    Args:
        collect_mean: whether to compute "mean".
        collect_std: whether to compute "std".
        percentile_sigmas: the percentiles, a number or several between 0 and 100, for "percentile"; () for none.

    Example:
        >>> statistics = chainer.training.extensions.variable_statistics_plot.Statistician(True, False, (50,))
        >>> statistics(np.array([[1.0, 2.0], [3.0, 6.0]]))
        {'mean': array([2., 4.]), 'percentile': array([[2., 4.]])}

    Source: `chainer.training.extensions.variable_statistics_plot.Statistician` of Chainer 7.8.1.
    """

    def __init__(self, collect_mean: bool, collect_std: bool, percentile_sigmas: Any) -> None:
        self.collect_mean = collect_mean
        self.collect_std = collect_std
        self.percentile_sigmas = percentile_sigmas

    def __call__(self, x, axis=0, dtype=None, xp=None):
        if axis is None:
            axis = tuple(range(x.ndim))
        elif not isinstance(axis, (tuple, list)):
            axis = (axis,)
        return self.collect(x, axis)

    def collect(self, x: Any, axis: tuple[int, ...]) -> dict[str, Any]:
        """Computes the statistics along a tuple of axes."""
        out = {}
        if self.collect_mean:
            out["mean"] = x.mean(axis=axis)
        if self.collect_std:
            out["std"] = x.std(axis=axis)
        if self.percentile_sigmas:
            out["percentile"] = backend.get_array_module(x).percentile(x, self.percentile_sigmas, axis=axis)
        return out


class VariableStatisticsPlot(extension.Extension):
    """Plots statistics of the elements of Variables against the iteration, to a file. It needs matplotlib, and warns if
    that is missing.

    Args:
        targets: a Variable, a link, or a list of them.
        max_sample_size: number of iterations kept, a random sample.
        report_data: whether to plot the elements.
        report_grad: whether to plot the gradients.
        plot_mean: whether to plot the mean.
        plot_std: whether to plot the standard deviation.
        percentile_sigmas: percentiles to plot, numbers between 0 and 100; () for none.
        trigger: when to plot, a trigger or a pair of number and unit.
        filename: name of the file in the trainer's output folder; None is "statistics.png".
        figsize: size of the figure in inches.
        marker: marker of the points, as matplotlib's.
        grid: whether to draw a grid.
        **kwargs: `file_name`: old name of `filename`.

    Raises:
        TypeError: another keyword is given.
        ValueError: there is no Variable, or no statistic.

    Example:
        >>> from compatgrad.chainer import testing
        >>> plot = chainer.training.extensions.VariableStatisticsPlot(L.Linear(2, 3), trigger=(2, "iteration"))
        >>> testing.get_trainer_with_mock_updater((4, "iteration"), extensions=[plot]).run()

    Source: `chainer.training.extensions.VariableStatisticsPlot` of Chainer 7.8.1.
    """

    def __init__(
        self,
        targets: Any,
        max_sample_size: int = 1000,
        report_data: bool = True,
        report_grad: bool = True,
        plot_mean: bool = True,
        plot_std: bool = True,
        percentile_sigmas: Any = (0, 0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87, 100),
        trigger: Any = (1, "epoch"),
        filename: str | None = None,
        figsize: tuple[float, float] | None = None,
        marker: str | None = None,
        grid: bool = True,
        **kwargs: Any,
    ) -> None:
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
    def available() -> bool:
        """Whether matplotlib is installed."""
        return plot_report._check_available()

    def __call__(self, trainer: Trainer) -> None:
        if not self.available():
            return
        # matplotlib is imported this late because a program may choose its backend after the import of this module.
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

    def save_plot_using_module(self, file_path: str, plt: Any) -> None:
        """Plots with a module such as `matplotlib.pyplot`."""
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
        with in_folder_beside(file_path) as name:
            fig.savefig(name)
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
        """Fills the band between the first and the last percentile, that between the second and the second to last, and
        so on; a percentile in the middle is a line."""
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
