"""`calibrate_entropy`: the range of 8-bit numbers that loses the least information of a histogram."""

import numpy as np
import torch

from ..base import MXNetError
from ._arguments import public_names
from ._operator import operator
from .ndarray import NDArray

_EPS = 0.0001  # the count that smoothing gives to an empty bin


def _smoothed(p: np.ndarray) -> np.ndarray | None:
    """Smooths counts: empty bins get `_EPS`, which the other bins lose; None if these have too little."""
    empty = p == 0
    others = p.size - int(empty.sum())
    share = _EPS * (p.size - others) / others if others else 1.0
    return np.where(empty, _EPS, p - share) if share < 1.0 else None


def _divergence(p: np.ndarray, counts: np.ndarray, bins: int) -> float:
    """The Kullback-Leibler divergence of `p` from `counts` quantized to `bins` bins; infinite where it is undefined."""
    width = counts.size // bins
    begins = np.arange(bins) * width
    filled = np.add.reduceat((counts != 0).astype(np.int64), begins)
    told = np.add.reduceat(counts, begins) / np.maximum(filled, 1)
    lengths = np.diff(np.append(begins, counts.size))
    q = np.repeat(np.where(filled > 0, told, 0), lengths) * (p != 0)
    p, q = _smoothed(p), _smoothed(q)
    if q is None or p is None:
        return np.inf
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


@operator("hist, hist_edges", name="_contrib_calibrate_entropy")
def calibrate_entropy(hist, hist_edges, num_quantized_bins=255):
    """The threshold at which numbers are clipped so that their histogram, in `num_quantized_bins` bins, loses the least
    information, and its Kullback-Leibler divergence.

    Args:
        hist: counts in an odd number of bins, which are symmetrical about 0.
        hist_edges: the bins' ends, one more than there are bins.
        num_quantized_bins: an odd number of bins, no more than `hist` has.

    Raises:
        MXNetError: sizes do not fit, or the histogram has too few numbers.

    Returns:
        A list of the threshold and the divergence, float32.

    Example:
        >>> edges = nd.arange(-4.5, 5.5)
        >>> [y.shape for y in nd.contrib.calibrate_entropy(nd.ones(9), edges, num_quantized_bins=3)]
        [(1,), (1,)]
    """
    counts, edges = hist.asnumpy().astype(np.int64).ravel(), hist_edges.asnumpy().ravel()
    total, bins = counts.size, int(num_quantized_bins)
    if edges.size != total + 1:
        raise MXNetError(f"calibrate_entropy: {total} bins have {total + 1} ends, got {edges.size}")
    if not 1 <= bins <= total or not bins % 2 or not total % 2:
        raise MXNetError(f"calibrate_entropy: expected an odd num_quantized_bins up to {total}, itself odd, got {bins}")
    middle, best = total // 2, (np.inf, edges[-1])
    below = np.cumsum(counts)
    for half in range(bins // 2, middle + 1):
        begin, end = middle - half, middle + half + 1
        inner = counts[begin:end].copy()
        inner[0] = 0  # as in MXNet, which leaves the first bin out
        p = counts[begin:end].astype(np.float64)
        p[0] = below[begin]
        p[-1] += below[-1] - below[end - 1]
        found = _divergence(p, inner, bins)
        if found < best[0]:
            best = (found, edges[end])
    if not np.isfinite(best[0]):
        raise MXNetError("calibrate_entropy: the histogram has too few numbers")
    return [NDArray(torch.tensor([value], dtype=torch.float32)) for value in (best[1], best[0])]


__all__ = public_names(globals())
