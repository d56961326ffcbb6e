"""What other names that SciPy removed did."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def nanstd(x: Any, axis: int | None = 0, bias: bool = False) -> Any:
    return np.nanstd(x, axis=axis, ddof=0 if bias else 1)


def signaltonoise(a: Any, axis: int | None = 0, ddof: int = 0) -> Any:
    a = np.asanyarray(a)
    mean, deviation = a.mean(axis), a.std(axis=axis, ddof=ddof)
    return np.where(deviation == 0, 0, mean / deviation)


def square_of_sums(a: Any, axis: int | None = 0) -> Any:
    return np.sum(a, axis=axis) ** 2


def ss(a: Any, axis: int | None = 0) -> Any:
    return np.sum(np.square(a), axis=axis)


def threshold(a: Any, threshmin: Any = None, threshmax: Any = None, newval: Any = 0) -> np.ndarray:
    found = np.array(a)
    outside = np.zeros(found.shape, dtype=bool)
    if threshmin is not None:
        outside |= found < threshmin
    if threshmax is not None:
        outside |= found > threshmax
    found[outside] = newval
    return found


def itemfreq(a: Any) -> np.ndarray:
    values, counts = np.unique(a, return_counts=True)
    return np.array([values, counts]).T


def median_absolute_deviation(
    x: Any, axis: int | None = 0, center: Any = np.median, scale: float = 1.4826, **options: Any
) -> Any:
    from scipy.stats import median_abs_deviation

    # the old function multiplied by the scale, the new one divides
    return median_abs_deviation(x, axis=axis, center=center, scale=1.0 / scale, **options)


def binom_test(x: Any, n: int | None = None, p: float = 0.5, alternative: str = "two-sided") -> float:
    from scipy.stats import binomtest

    if np.ndim(x):
        x, failures = (int(one) for one in np.asarray(x))
        n = x + failures
    if n is None:
        raise ValueError("n: expected the number of trials, since x is a number; got None")
    return float(binomtest(int(x), int(n), p, alternative).pvalue)


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    from scipy.integrate import trapezoid

    return trapezoid(y, x=x, dx=dx, axis=axis)


def cumtrapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The integral up to each sample. `initial`, if given, is put before the sums."""
    from scipy.integrate import cumulative_trapezoid

    found = cumulative_trapezoid(y, x=x, dx=dx, axis=axis)
    if initial is None:
        return found
    first = np.full_like(np.take(found, [0], axis=axis), initial)
    return np.concatenate([first, found], axis=axis)


def simps(y: Any, x: Any = None, dx: float = 1, axis: int = -1, even: str = "avg") -> Any:
    """Simpson's rule. With an even number of samples, the trapezoidal rule is used in the last interval ("first"), in
    the first one ("last"), or the two results are averaged ("avg")."""
    from scipy.integrate import simpson

    if even not in ("avg", "last", "first"):
        raise ValueError("Parameter 'even' must be 'avg', 'last', or 'first'.")
    y = np.moveaxis(np.asarray(y), axis, -1)
    if x is not None:
        x = np.asarray(x)
        x = x if x.ndim == 1 else np.moveaxis(x, axis, -1)

    def part(rule: Callable[..., Any], where: slice) -> Any:
        return rule(y[..., where], x=None if x is None else x[..., where], dx=dx)

    if y.shape[-1] % 2:
        return part(simpson, slice(None))
    found = []
    if even in ("avg", "first"):
        found.append(part(simpson, slice(None, -1)) + part(trapz, slice(-2, None)))
    if even in ("avg", "last"):
        found.append(part(trapz, slice(None, 2)) + part(simpson, slice(1, None)))
    return sum(found) / len(found)


def central_diff_weights(Np: int, ndiv: int = 1) -> np.ndarray:
    """The weights of `Np` equally spaced values of a function in its derivative at the middle one."""
    if Np < ndiv + 1:
        raise ValueError("Number of points must be at least the derivative order + 1.")
    if Np % 2 == 0:
        raise ValueError("The number of points must be odd.")
    half = Np // 2
    powers = np.vander(np.arange(-half, half + 1.0), increasing=True)
    return math.factorial(ndiv) * np.linalg.inv(powers)[ndiv]


def derivative(
    func: Callable[..., Any], x0: float, dx: float = 1.0, n: int = 1, args: tuple[Any, ...] = (), order: int = 3
) -> Any:
    """The `n`-th derivative at `x0` from `order` values, `dx` apart."""
    if order < n + 1:
        raise ValueError(
            "'order' (the number of points used to compute the derivative), must be at least the derivative order "
            "'n' + 1."
        )
    if order % 2 == 0:
        raise ValueError("'order' (the number of points used to compute the derivative) must be odd.")
    weights = central_diff_weights(order, n)
    half = order // 2
    return sum(weight * func(x0 + (at - half) * dx, *args) for at, weight in enumerate(weights)) / dx**n


def ricker(points: int, a: float) -> np.ndarray:
    """The Mexican hat: the negative second derivative of a Gaussian of width `a`, in `points` samples."""
    squares = ((np.arange(points) - (points - 1.0) / 2) / a) ** 2
    return 2 / (np.sqrt(3 * a) * np.pi**0.25) * (1 - squares) * np.exp(-squares / 2)


def sph_harm(m: Any, n: Any, theta: Any, phi: Any) -> Any:
    """The spherical harmonic of degree `n` and order `m`; `theta` is the longitude, `phi` the angle from the pole."""
    from scipy.special import sph_harm_y

    return sph_harm_y(n, m, phi, theta)
