"""Statistical checks of random generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check", "verify_generator"]


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[list[Any], list[float]]:
    """Intervals of equal probability of a distribution.

    Args:
        ppf: its quantile function, from a probability to a number.
        nbuckets: how many intervals.

    Returns:
        A list of (lower end, upper end), and a list of the probabilities, 1 / nbuckets each.

    Raises:
        AssertionError: `nbuckets` is not positive.

    Example:
        >>> mx.test_utils.gen_buckets_probs_with_ppf(lambda p: 10 * p, 2)
        ([(0.0, 5.0), (5.0, 10.0)], [0.5, 0.5])

    Source: `mxnet.test_utils.gen_buckets_probs_with_ppf` of MXNet 1.9.1.
    """
    assert nbuckets > 0, "gen_buckets_probs_with_ppf: nbuckets must be positive"
    ends = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(zip(ends[:-1], ends[1:], strict=True)), [1.0 / nbuckets] * nbuckets


def mean_check(generator: Callable[[int], Any], mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of samples is within three standard errors of a number.

    Args:
        generator: gives that many samples, called as `generator(nsamples)`.
        mu: the number.
        sigma: standard deviation of the distribution.
        nsamples: how many samples are drawn.

    Returns:
        A bool, false at random once in 370 times.

    Raises:
        Nothing, but what `generator` raises.

    Example:
        >>> mx.test_utils.mean_check(lambda n: np.linspace(0, 2, n), mu=1, sigma=1, nsamples=101)
        True

    Source: `mxnet.test_utils.mean_check` of MXNet 1.9.1.
    """
    mean = np.array(generator(nsamples)).mean()
    return bool(abs(mean - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator: Callable[[int], Any], sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of samples is within three standard errors of that of a normal distribution.

    Args:
        generator: gives that many samples, called as `generator(nsamples)`.
        sigma: standard deviation of the distribution.
        nsamples: how many samples are drawn.

    Returns:
        A bool, false at random once in 370 times.

    Raises:
        ZeroDivisionError: `nsamples` is 1 and `sigma` a Python number.

    Example:
        >>> mx.test_utils.var_check(lambda n: np.linspace(-1, 1, n), sigma=0.577, nsamples=101)
        True

    Source: `mxnet.test_utils.var_check` of MXNet 1.9.1.
    """
    variance = np.array(generator(nsamples)).var(ddof=1)
    return bool(abs(variance - sigma**2) < 3 * np.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(
    generator: Callable[[int], Any], buckets: list[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """The chi-square test of samples against a distribution; needs SciPy.

    Args:
        generator: gives that many samples, called as `generator(nsamples)`.
        buckets: a list of intervals (lower end, upper end), adjacent and in order, or of the values of a discrete
            distribution.
        probs: the probability of each bucket.
        nsamples: how many samples are drawn.

    Returns:
        The p-value, and the observed and expected counts in the buckets.

    Raises:
        ImportError: SciPy is not installed.
        AssertionError: `buckets` is no list, or has another length than `probs`.

    Example:
        >>> p, observed, expected = mx.test_utils.chi_square_check(lambda n: np.arange(n) % 2, [0, 1], [0.5, 0.5], 100)
        >>> float(p), observed, expected
        (1.0, array([50, 50]), array([50, 50], dtype=int32))

    Source: `mxnet.test_utils.chi_square_check` of MXNet 1.9.1.
    """
    try:
        from scipy import stats
    except ImportError:
        raise ImportError("chi_square_check needs SciPy, which is not installed") from None
    assert isinstance(buckets, list) and len(probs) == len(buckets), "chi_square_check: one probability per bucket"
    samples = np.array(generator(nsamples))
    expected = (nsamples * np.array(probs, dtype=np.float32)).astype(np.int32)
    if isinstance(buckets[0], (list, tuple)):
        ends = np.array(buckets, dtype=np.float32).ravel()
        ids = np.searchsorted(ends, samples, side="right") // 2
        observed = np.array([(ids == i).sum() for i in range(len(buckets))])
    else:
        observed = np.array([(samples == value).sum() for value in buckets])
    # counts that do not add up to the same number are no test
    scaled = expected * (observed.sum() / max(expected.sum(), 1))
    return stats.chisquare(f_obs=observed, f_exp=scaled)[1], observed, expected


def verify_generator(
    generator: Callable[[int], Any],
    buckets: list[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Checks that samples follow a distribution, by `chi_square_check`.

    Args:
        generator, buckets, probs, nsamples: as in `chi_square_check`.
        nrepeat: number of tests.
        success_rate: the share of tests that must succeed.
        alpha: a test succeeds where its p-value is above this.

    Returns:
        A list of the p-values.

    Raises:
        AssertionError: too few tests succeed.
        ImportError: SciPy is not installed.

    Example:
        >>> ps = mx.test_utils.verify_generator(lambda n: np.arange(n) % 2, [0, 1], [0.5, 0.5], 100, nrepeat=2)
        >>> [float(p) for p in ps]
        [1.0, 1.0]

    Source: `mxnet.test_utils.verify_generator` of MXNet 1.9.1.
    """
    runs = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in runs]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        raise AssertionError(f"the samples do not follow the distribution: p={values}, counts {runs[-1][1:]}")
    return values
