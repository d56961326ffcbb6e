"""Monitors, which write series of numbers, times and images to the log and to files in one folder."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np

from .core._file_errors import reading
from .logger import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._nd_array import NdArray
    from .variable import Variable

__all__ = [
    "Monitor",
    "MonitorImage",
    "MonitorImageTile",
    "MonitorSeries",
    "MonitorTimeElapsed",
    "plot_series",
    "plot_time_elapsed",
    "tile_images",
]


class Monitor:
    """The folder into which monitors write; it is made if it does not exist.

    Args:
        save_path: the folder's path.

    Raises:
        FileExistsError: there is a file of that name.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.monitor import Monitor
        >>> monitor = Monitor("results/first")
        >>> os.path.isdir(monitor.save_path)
        True

    Source: `nnabla.monitor.Monitor` of nnabla 1.39.0.
    """

    def __init__(self, save_path: str) -> None:
        self._save_path = save_path
        os.makedirs(save_path, exist_ok=True)

    @property
    def save_path(self) -> str:
        """The folder's path."""
        return self._save_path


class _Lines:
    """Base class of the monitors that write lines."""

    _suffix = ""

    def __init__(self, name: str, monitor: Monitor | None, interval: int, verbose: bool) -> None:
        self.name = name
        self.interval = interval
        self.verbose = verbose
        self.sp = None
        if monitor is not None:
            self.sp = os.path.join(monitor.save_path, name.replace(" ", "-")) + self._suffix
            open(self.sp, "w").close()
        self.flush_at = -1

    def _is_due(self, index):
        return index - self.flush_at >= self.interval

    def _write(self, index, text, line):
        if self.verbose:
            # all digits of NumPy's numbers, which %s would shorten
            logger.info(f"iter={index} {{{self.name}}}={text}")
        if self.sp is not None:
            with open(self.sp, "a") as file:
                file.write(line + "\n")
        self.flush_at = index


class MonitorSeries(_Lines):
    r"""A series of numbers: every `interval` indices their mean is written to the log and to the file
    `<name>.series.txt`.

    Args:
        name: name of the numbers in the log; spaces become "-" in the name of the file.
        monitor: the folder of the file; None for no file.
        interval: the number of indices of a mean.
        verbose: whether to write the means to the log.

    Raises:
        AttributeError: `monitor` is neither a Monitor nor None.

    Example:
        >>> from compatgrad.nnabla.monitor import Monitor, MonitorSeries
        >>> loss = MonitorSeries("Training loss", Monitor("results"), interval=2, verbose=False)
        >>> for i, value in enumerate([8.0, 6.0, 4.0, 2.0]):
        ...     loss.add(i, value)
        >>> open("results/Training-loss.series.txt").read()
        '1 7\n3 3\n'

    Source: `nnabla.monitor.MonitorSeries` of nnabla 1.39.0.
    """

    _suffix = ".series.txt"

    def __init__(self, name: str, monitor: Monitor | None = None, interval: int = 1, verbose: bool = True) -> None:
        super().__init__(name, monitor, interval, verbose)
        self.buf = []

    def add(self, index: int, value: float | np.ndarray) -> None:
        """Adds a number, or all elements of an array, at an index that increases from call to call."""
        self.buf.append(value)
        if self._is_due(index):
            mean = np.mean(self.buf)
            self._write(index, mean, f"{index} {mean:g}")
            self.buf = []


class MonitorTimeElapsed(_Lines):
    """Elapsed times: every `interval` indices the seconds since the last line are written to the log and to the file
    `<name>.timer.txt`.

    Args:
        name: name of the times in the log; spaces become "-" in the name of the file.
        monitor: the folder of the file; None for no file.
        interval: the number of indices of a line.
        verbose: whether to write the times to the log.

    Raises:
        AttributeError: `monitor` is neither a Monitor nor None.

    Example:
        >>> from compatgrad.nnabla.monitor import Monitor, MonitorTimeElapsed
        >>> timer = MonitorTimeElapsed("Training time", Monitor("results"), interval=2, verbose=False)
        >>> for i in range(4):
        ...     timer.add(i)
        >>> len(open("results/Training-time.timer.txt").readlines())
        2

    Source: `nnabla.monitor.MonitorTimeElapsed` of nnabla 1.39.0.
    """

    _suffix = ".timer.txt"

    def __init__(self, name: str, monitor: Monitor | None = None, interval: int = 100, verbose: bool = True) -> None:
        super().__init__(name, monitor, interval, verbose)
        self.start = self.lap = time.time()

    def add(self, index: int) -> None:
        """Called when `index`, which increases from call to call, is reached."""
        if self._is_due(index):
            now = time.time()
            elapsed, total, steps = now - self.lap, now - self.start, index - self.flush_at
            self.lap = now
            text = f"{elapsed}[sec/{steps}iter] {total}[sec]"
            self._write(index, text, f"{index} {elapsed} {steps} {total}")


class MonitorImage:
    """Images, which are written at index 0 and at the end of every `interval` indices to the files
    `<name>/<index>-<number>.png`.

    Args:
        name: name of the folder; spaces become "-".
        monitor: the folder in which this folder is made.
        interval: the number of indices between images.
        verbose: whether to log where images are written.
        num_images: the number of images of a batch that are written.
        normalize_method: a function from the batch, an array (N, C, H, W), to values in [0, 1]; None for a function
            that maps the batch's minimum and maximum to 0 and 1.

    Raises:
        AttributeError: `monitor` is not a Monitor.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.monitor import Monitor, MonitorImage
        >>> images = MonitorImage("generated", Monitor("results"), verbose=False, num_images=2)
        >>> images.add(0, nn.Variable.from_numpy_array(np.random.rand(4, 3, 8, 8)))
        >>> sorted(os.listdir("results/generated"))
        ['000000-000.png', '000000-001.png']

    Source: `nnabla.monitor.MonitorImage` of nnabla 1.39.0.
    """

    def __init__(
        self,
        name: str,
        monitor: Monitor,
        interval: int = 1000,
        verbose: bool = True,
        num_images: int = 16,
        normalize_method: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.name = name
        self.interval = interval
        self.verbose = verbose
        self.normalize_method = normalize_method or self.default_normalize_method
        self.num_images = num_images
        self.save_dir = os.path.join(monitor.save_path, name.replace(" ", "-"))
        os.makedirs(self.save_dir, exist_ok=True)

    def default_normalize_method(self, x: np.ndarray) -> np.ndarray:
        """Maps the array `x` linearly onto [0, 1]."""
        low, high = x.min(), x.max()
        return (x - low) / (high - low)

    def add(self, index: int, var: Variable | NdArray | np.ndarray) -> None:
        """Adds a batch of shape (N, ..., C, H, W), which is written if the index is due.

        Channels after the third are left out; two channels become three, of which the last is ones. Raises
        AssertionError for fewer than three axes.
        """
        if index != 0 and (index + 1) % self.interval != 0:
            return
        assert getattr(var, "ndim", 0) > 2, f"MonitorImage.add: expected (N, ..., C, H, W), got {var!r}"
        # the NumPy array of a Variable is `d`, that of an NdArray `data`
        data = var if isinstance(var, np.ndarray) else var.d if hasattr(var, "d") else var.data
        data = np.array(data).reshape(-1, *data.shape[-3:])[: self.num_images]
        data = self.normalize_method(data)[:, :3]
        if data.shape[1] == 2:
            data = np.concatenate([data, np.ones_like(data[:, :1])], axis=1)
        where = self._save(index, data)
        if self.verbose:
            logger.info("iter=%s {%s} %s.", index, self.name, where)

    def _save(self, index, data):
        from .utils.image_utils import imsave

        for number, image in enumerate(data.transpose(0, 2, 3, 1)):
            path = os.path.join(self.save_dir, f"{index:06d}-{number:03d}.png")
            imsave(path, image[..., 0] if image.shape[-1] == 1 else image)
        return f"are written to {os.path.join(self.save_dir, f'{index:06d}-*.png')}"


class MonitorImageTile(MonitorImage):
    """Images: a batch is written as one picture to the file `<name>/<index>.png`.

    Args:
        name: name of the folder; spaces become "-".
        monitor: the folder in which this folder is made.
        interval: the number of indices between pictures.
        verbose: whether to log where pictures are written.
        num_images: the number of images of a batch in the picture.
        normalize_method: a function from the batch, an array (N, C, H, W), to values in [0, 1]; None for a function
            that maps the batch's minimum and maximum to 0 and 1.

    Raises:
        AttributeError: `monitor` is not a Monitor.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.monitor import Monitor, MonitorImageTile
        >>> images = MonitorImageTile("generated", Monitor("results"), verbose=False, num_images=4)
        >>> images.add(0, np.random.rand(4, 3, 8, 8))
        >>> os.listdir("results/generated")
        ['000000.png']

    Source: `nnabla.monitor.MonitorImageTile` of nnabla 1.39.0.
    """

    def _save(self, index, data):
        from .utils.image_utils import imsave

        path = os.path.join(self.save_dir, f"{index:06d}.png")
        imsave(path, tile_images(data))
        return f"is written to {path}"


def tile_images(data: np.ndarray, padsize: int = 1, padval: float = 0) -> np.ndarray:
    """Arranges a batch of images in one picture, as the smallest square grid into which they fit.

    Args:
        data: array (B, C, H, W).
        padsize: number of pixels added to the right of and below each image.
        padval: the value of these pixels, and of the empty cells of the grid.

    Returns:
        Array (height, width, C), or (height, width) for a single channel, of the dtype of `data`.

    Raises:
        AssertionError: `data` does not have four axes.

    Example:
        >>> from compatgrad.nnabla.monitor import tile_images
        >>> tile_images(np.arange(1, 4).reshape(3, 1, 1, 1), padsize=0)
        array([[1, 2],
               [3, 0]])

    Source: `nnabla.monitor.tile_images` of nnabla 1.39.0.
    """
    assert data.ndim == 4, f"tile_images: expected an array (B, C, H, W), got shape {data.shape}"
    count, channels, height, width = data.shape
    n = int(np.ceil(np.sqrt(count)))
    height, width = height + padsize, width + padsize
    grid = np.full((n * n, height, width, channels), padval, data.dtype)
    grid[:count, : height - padsize, : width - padsize] = data.transpose(0, 2, 3, 1)
    grid = grid.reshape(n, n, height, width, channels).transpose(0, 2, 1, 3, 4)
    picture = grid.reshape(n * height, n * width, channels)
    return picture[..., 0] if channels == 1 else picture


def _plot(filename, column, factor, plot_kwargs):
    import matplotlib.pyplot as plt

    with reading(filename, "monitor"):
        index, values = np.loadtxt(filename, usecols=(0, column), unpack=True, ndmin=2)
    plt.plot(index.astype(int), values * factor, **(plot_kwargs or {}))


def plot_series(filename: str, plot_kwargs: Mapping[str, Any] | None = None) -> None:
    """Plots the file of a `MonitorSeries` into the current figure of matplotlib.

    Args:
        filename: the file's path.
        plot_kwargs: keyword arguments for `matplotlib.pyplot.plot`.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: matplotlib is not installed.
        ValueError: the file is not one of a monitor.

    Example:
        >>> from compatgrad.nnabla.monitor import Monitor, MonitorSeries, plot_series
        >>> MonitorSeries("loss", Monitor("results"), verbose=False).add(0, 1.0)
        >>> plot_series("results/loss.series.txt", {"label": "loss"})  # doctest: +SKIP

    Source: `nnabla.monitor.plot_series` of nnabla 1.39.0.
    """
    _plot(filename, 1, 1, plot_kwargs)


def plot_time_elapsed(
    filename: str,
    elapsed: bool = False,
    unit: str = "s",
    plot_kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Plots the file of a `MonitorTimeElapsed` into the current figure of matplotlib.

    Args:
        filename: the file's path.
        elapsed: whether to plot the time since the start instead of the time per line.
        unit: "s", "m", "h" or "d": seconds, minutes, hours or days.
        plot_kwargs: keyword arguments for `matplotlib.pyplot.plot`.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: matplotlib is not installed.
        ValueError: `unit` is unknown, or the file is not one of a monitor.

    Example:
        >>> from compatgrad.nnabla.monitor import Monitor, MonitorTimeElapsed, plot_time_elapsed
        >>> MonitorTimeElapsed("time", Monitor("results"), interval=1, verbose=False).add(0)
        >>> plot_time_elapsed("results/time.timer.txt", unit="m")  # doctest: +SKIP

    Source: `nnabla.monitor.plot_time_elapsed` of nnabla 1.39.0.
    """
    seconds = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if unit not in seconds:
        raise ValueError(f"plot_time_elapsed: unit must be one of s, m, h, d; got {unit!r}")
    _plot(filename, 3 if elapsed else 1, 1 / seconds[unit], plot_kwargs)
