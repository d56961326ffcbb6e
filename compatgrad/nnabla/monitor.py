"""Monitors: series of numbers, times and images, to the log and to files in one folder."""

import os
import time

import numpy

from .core.file_errors import reading
from .logger import logger

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
    """The folder `save_path`, made if need be, into which monitors write."""

    def __init__(self, save_path):
        self._save_path = save_path
        os.makedirs(save_path, exist_ok=True)

    @property
    def save_path(self):
        """The folder's path."""
        return self._save_path


class _Lines:
    """What the monitors that write a line at a time share."""

    _suffix = ""

    def __init__(self, name, monitor, interval, verbose):
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
            logger.info(f"iter={index} {{{self.name}}}={text}")  # all digits of NumPy's numbers, which %s would shorten
        if self.sp is not None:
            with open(self.sp, "a") as file:
                file.write(line + "\n")
        self.flush_at = index


class MonitorSeries(_Lines):
    """Numbers: every `interval` calls their mean goes to the log and to `<name>.series.txt`.

    name: str. monitor: a Monitor, or None for no file. verbose: whether to log.
    """

    _suffix = ".series.txt"

    def __init__(self, name, monitor=None, interval=1, verbose=True):
        super().__init__(name, monitor, interval, verbose)
        self.buf = []

    def add(self, index, value):
        """Adds `value` (a number) at `index` (int)."""
        self.buf.append(value)
        if self._is_due(index):
            mean = numpy.mean(self.buf)
            self._write(index, mean, f"{index} {mean:g}")
            self.buf = []


class MonitorTimeElapsed(_Lines):
    """Times: every `interval` calls the seconds since the last line, to the log and to `<name>.timer.txt`."""

    _suffix = ".timer.txt"

    def __init__(self, name, monitor=None, interval=100, verbose=True):
        super().__init__(name, monitor, interval, verbose)
        self.start = self.lap = time.time()

    def add(self, index):
        """Says that `index` (int) is reached."""
        if self._is_due(index):
            now = time.time()
            elapsed, total, steps = now - self.lap, now - self.start, index - self.flush_at
            self.lap = now
            text = f"{elapsed}[sec/{steps}iter] {total}[sec]"
            self._write(index, text, f"{index} {elapsed} {steps} {total}")


class MonitorImage:
    """Images: at index 0 and at the end of every `interval` indices, to `<name>/<index>-<number>.png`.

    num_images: how many of a batch. normalize_method: a function from the batch (N, C, H, W) to values in
    [0, 1]; by default the batch's minimum and maximum become 0 and 1.
    """

    def __init__(self, name, monitor, interval=1000, verbose=True, num_images=16, normalize_method=None):
        self.name = name
        self.interval = interval
        self.verbose = verbose
        self.normalize_method = normalize_method or self.default_normalize_method
        self.num_images = num_images
        self.save_dir = os.path.join(monitor.save_path, name.replace(" ", "-"))
        os.makedirs(self.save_dir, exist_ok=True)

    def default_normalize_method(self, x):
        """`x` mapped linearly onto [0, 1]."""
        low, high = x.min(), x.max()
        return (x - low) / (high - low)

    def add(self, index, var):
        """Adds a batch: a Variable, an NdArray or a numpy array of shape (N, ..., C, H, W).

        Channels after the third are left out; two channels become three, the last of ones.
        """
        if index != 0 and (index + 1) % self.interval != 0:
            return
        assert getattr(var, "ndim", 0) > 2, f"MonitorImage.add: expected (N, ..., C, H, W), got {var!r}"
        # a Variable has `d`, an NdArray `data`: an array of them
        data = var if isinstance(var, numpy.ndarray) else var.d if hasattr(var, "d") else var.data
        data = numpy.array(data).reshape(-1, *data.shape[-3:])[: self.num_images]
        data = self.normalize_method(data)[:, :3]
        if data.shape[1] == 2:
            data = numpy.concatenate([data, numpy.ones_like(data[:, :1])], axis=1)
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
    """Images, the batch as one picture: `<name>/<index>.png`. The arguments are those of `MonitorImage`."""

    def _save(self, index, data):
        from .utils.image_utils import imsave

        path = os.path.join(self.save_dir, f"{index:06d}.png")
        imsave(path, tile_images(data))
        return f"is written to {path}"


def tile_images(data, padsize=1, padval=0):
    """One picture of the images `data`, an array (B, C, H, W): the smallest square grid that holds them.

    padsize: pixels of value `padval` to the right of and below each image. Returns (height, width, C), or
    (height, width) for a single channel.
    """
    assert data.ndim == 4, f"tile_images: expected an array (B, C, H, W), got shape {data.shape}"
    count, channels, height, width = data.shape
    n = int(numpy.ceil(numpy.sqrt(count)))
    height, width = height + padsize, width + padsize
    grid = numpy.full((n * n, height, width, channels), padval, data.dtype)
    grid[:count, : height - padsize, : width - padsize] = data.transpose(0, 2, 3, 1)
    grid = grid.reshape(n, n, height, width, channels).transpose(0, 2, 1, 3, 4)
    picture = grid.reshape(n * height, n * width, channels)
    return picture[..., 0] if channels == 1 else picture


def _plot(filename, column, factor, plot_kwargs):
    import matplotlib.pyplot as plt

    with reading(filename, "monitor"):
        index, values = numpy.loadtxt(filename, usecols=(0, column), unpack=True, ndmin=2)
    plt.plot(index.astype(int), values * factor, **(plot_kwargs or {}))


def plot_series(filename, plot_kwargs=None):
    """Plots a `MonitorSeries` file; plot_kwargs go to matplotlib's `plot`. Needs matplotlib."""
    _plot(filename, 1, 1, plot_kwargs)


def plot_time_elapsed(filename, elapsed=False, unit="s", plot_kwargs=None):
    """Plots a `MonitorTimeElapsed` file: time per line, or with `elapsed` since the start. Needs matplotlib.

    unit: "s", "m", "h" or "d"; ValueError for another.
    """
    seconds = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if unit not in seconds:
        raise ValueError(f"plot_time_elapsed: unit must be one of s, m, h, d; got {unit!r}")
    _plot(filename, 3 if elapsed else 1, 1 / seconds[unit], plot_kwargs)
