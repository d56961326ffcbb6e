"""What names that matplotlib removed did."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from compatgrad.surroundings._callers import calling_frame
from compatgrad.surroundings._row import Row
from compatgrad.surroundings._uses import is_given


def _keep(state: Any) -> None:
    if state is False:
        raise NotImplementedError(
            "hold(False): matplotlib 3.0 removed the mode in which a plot replaces the one before; call clear() of the "
            "axes before each plot"
        )


def hold(b: bool | None = None) -> None:
    _keep(b)


def axes_hold(self: Any, b: bool | None = None) -> None:
    _keep(b)


def ishold() -> bool:
    return True


def axes_ishold(self: Any) -> bool:
    return True


def set_color_cycle(self: Any, clist: Any) -> None:
    if clist is None:
        self.set_prop_cycle(None)
    else:
        self.set_prop_cycle(color=clist)


def is_first_col(self: Any) -> bool:
    return bool(self.get_subplotspec().is_first_col())


def is_first_row(self: Any) -> bool:
    return bool(self.get_subplotspec().is_first_row())


def is_last_col(self: Any) -> bool:
    return bool(self.get_subplotspec().is_last_col())


def is_last_row(self: Any) -> bool:
    return bool(self.get_subplotspec().is_last_row())


def set_window_title(self: Any, title: str) -> None:
    if self.manager is not None:
        self.manager.set_window_title(title)


def register_cmap(name: str | None = None, cmap: Any = None, *, override_builtin: bool = False) -> None:
    import matplotlib

    matplotlib.colormaps.register(cmap, name=name, force=override_builtin)


def tostring_rgb(self: Any) -> bytes:
    return np.asarray(self.buffer_rgba())[..., :3].tobytes()


# matplotlib.mlab


def normpdf(x: Any, mu: float, sigma: float) -> Any:
    return np.exp(-0.5 * ((x - mu) / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)


def bivariate_normal(
    X: Any, Y: Any, sigmax: float = 1.0, sigmay: float = 1.0, mux: float = 0.0, muy: float = 0.0, sigmaxy: float = 0.0
) -> Any:
    """The density of two normal variables with the covariance `sigmaxy`."""
    correlation = sigmaxy / (sigmax * sigmay)
    x, y = (X - mux) / sigmax, (Y - muy) / sigmay
    rest = 1 - correlation**2
    return np.exp(-(x**2 + y**2 - 2 * correlation * x * y) / (2 * rest)) / (2 * np.pi * sigmax * sigmay * np.sqrt(rest))


def find(condition: Any) -> np.ndarray:
    return np.flatnonzero(condition)


def frange(xini: float, xfin: float | None = None, delta: float | None = None, **options: Any) -> np.ndarray:
    """Equally spaced numbers, the last one included unless `closed` is 0; `npts` of them, if it is given."""
    if xfin is None:
        xini, xfin = 0.0, xini + 0.0
    delta = 1.0 if delta is None else delta
    closed = int(options.get("closed", 1) != 0)
    if "npts" in options:
        count = options["npts"]
        delta = (xfin - xini) / (count - closed)
    else:
        count = int(np.round((xfin - xini) / delta)) + closed
    return np.arange(count) * delta + xini


def movavg(x: Any, n: int) -> np.ndarray:
    return np.convolve(x, np.full(n, 1.0 / n), mode="valid")


def rms_flat(a: Any) -> Any:
    return np.sqrt(np.mean(np.abs(a) ** 2))


def l1norm(a: Any) -> Any:
    return np.sum(np.abs(a))


def l2norm(a: Any) -> Any:
    return np.sqrt(np.sum(np.abs(a) ** 2))


def dist(x: Any, y: Any) -> Any:
    return l2norm(np.subtract(x, y))


def entropy(y: Any, bins: Any) -> Any:
    """The entropy, in nats, of the histogram of `y`."""
    counts, edges = np.histogram(y, bins)
    shares = counts[counts > 0] / len(y)
    return -np.sum(shares * np.log(shares)) + np.log(edges[1] - edges[0])


def prctile(x: Any, p: Any = (0.0, 25.0, 50.0, 75.0, 100.0)) -> Any:
    return np.percentile(x, p)


def center_matrix(M: Any, dim: int = 0) -> np.ndarray:
    """Each row, or with `dim` each column, with mean 0 and deviation 1."""
    axis = 0 if dim else 1
    matrix = np.asarray(M, float)
    return (matrix - matrix.mean(axis, keepdims=True)) / matrix.std(axis, keepdims=True)


# Arguments that methods had once: a wrapper translates those that the program gives


def takes(owner: type, method: str, argument: str, row: Row, translate: Callable[..., Any]) -> Callable[[], None]:
    """Makes a method accept an argument again, and returns what undoes it. `translate` is called with the method and
    the call's arguments. matplotlib.pyplot passes calls on."""
    original = vars(owner)[method]

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if argument in kwargs:
            frame = calling_frame()
            while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "matplotlib":
                frame = frame.f_back
            if is_given(row, frame):
                return translate(original, *args, **kwargs)
        return original(*args, **kwargs)

    setattr(owner, method, wrapper)
    return lambda: setattr(owner, method, original)


def _hist(original: Callable[..., Any], *args: Any, normed: Any = None, **kwargs: Any) -> Any:
    if normed is not None and not kwargs.get("density"):  # pyplot passes its default
        kwargs["density"] = bool(normed)
    return original(*args, **kwargs)


def _gca(original: Callable[..., Any], self: Any, **kwargs: Any) -> Any:
    current = self.axes[-1] if self.axes else None
    if current is not None and getattr(current, "name", None) == kwargs.get("projection"):
        return self.sca(current)
    return self.add_subplot(**kwargs)


def old_hist(module: ModuleType, row: Row) -> Callable[[], None]:
    return takes(module.Axes, "hist", "normed", row, _hist)


def old_gca(module: ModuleType, row: Row) -> Callable[[], None]:
    return takes(module.FigureBase, "gca", "projection", row, _gca)
