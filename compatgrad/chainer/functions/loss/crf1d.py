"""Conditional random field over sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer import backend
from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.loss import _crf
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


def _packed(xs):
    """The scores of all steps in one Variable, and the number of rows of each step, which must not increase."""
    sizes = [len(x) for x in xs]
    for before, after in zip(sizes[:-1], sizes[1:], strict=True):
        type_check.expect(type_check.make_variable(after, "len(xs[i])") <= before)
    return concat(xs, axis=0), sizes


def _packed_labels(xs, ys):
    if len(xs) != len(ys):
        raise ValueError(f"ys must have the labels of {len(xs)} steps, not of {len(ys)}")
    for x, y in zip(xs, ys, strict=True):
        t = type_check.make_variable(y, "ys[i]")
        type_check.expect(t.dtype.kind == "i", t.ndim == 1, t.shape[0] == len(x))
        labels = as_array(y)
        if _C.get_mode("debug") and not ((0 <= labels) & (labels < x.shape[1])).all():
            raise ValueError(
                "Each label in `ys` needs to satisfy `0 <= t < xs[0].shape[1]`. "
                f"Actual: {labels.min()} to {labels.max()}, {x.shape[1]} classes"
            )
    return backend.get_array_module(*ys).concatenate([as_array(y) for y in ys])


def crf1d(
    cost: VariableOrArray, xs: Sequence[VariableOrArray], ys: Sequence[VariableOrArray], reduce: str = "mean"
) -> Variable:
    """Negative log-likelihood of label sequences under a linear-chain conditional random field.

    Args:
        cost: floating, (k, k): score of each transition from a label to the next.
        xs: for each step, scores (b, k) of the b sequences that reach this step, the longest sequence first.
        ys: for each step, integer labels (b,).
        reduce: "mean" over the sequences, or "no" for one loss per sequence.

    Returns:
        Variable of the dtype of `cost` and shape (), or (b,), b of the first step, with `reduce="no"`.

    Raises:
        ValueError: `reduce` has another value, `xs` and `ys` have different numbers of steps, or, in debug mode, a
            label is out of range.
        AssertionError: a score is missing for a label.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit, or a step has more sequences than the one
            before.
        IndexError: a label is out of range.

    Example:
        >>> cost = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> xs, ys = [np.array([[2.0, 0.0]]), np.array([[0.0, 0.0]])], [np.array([0]), np.array([0])]
        >>> F.crf1d(cost, xs, ys).array
        array(0.4401897)

    Source: `chainer.functions.crf1d` of Chainer 7.8.1; Lafferty et al. 2001.
    """
    _composed.check_reduce(reduce, "mean", "no")
    assert xs[0].shape[1] == cost.shape[0], (
        f"xs must have a score for each of {cost.shape[0]} labels, not {xs[0].shape[1]}"
    )
    labels = _packed_labels(xs, ys)
    scores, sizes = _packed(xs)
    if ((labels < -len(cost)) | (labels >= len(cost))).any():
        raise IndexError(f"ys holds labels {labels.min()} to {labels.max()}, xs has scores of {len(cost)} labels")
    (log_partition,) = _crf.CRFLogPartition(sizes).apply((cost, scores))
    loss = log_partition - _crf.CRFScore(sizes).apply((cost, scores, labels))[0]
    return _sum(loss) / sizes[0] if reduce == "mean" else loss


def argmax_crf1d(cost: VariableOrArray, xs: Sequence[VariableOrArray]) -> tuple[Variable, list[NdArray]]:
    """Labels of the best path of each sequence under a linear-chain conditional random field.

    Args:
        cost: floating, (k, k): score of each transition from a label to the next.
        xs: for each step, scores (b, k) of the b sequences that reach this step, the longest sequence first.

    Returns:
        Variable (b,), the score of each sequence's path; and a list with an int32 array of labels (b,) for each step.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit, or a step has more sequences than the one
            before.

    Example:
        >>> cost = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> score, path = F.argmax_crf1d(cost, [np.array([[2.0, 0.0]]), np.array([[0.0, 0.5]])])
        >>> score.array, path
        (array([3.]), [array([0], dtype=int32), array([0], dtype=int32)])

    Source: `chainer.functions.argmax_crf1d` of Chainer 7.8.1.
    """
    scores, sizes = _packed(xs)
    path = _crf.CRFPath(sizes).apply((cost, scores))[0].array
    score = _crf.CRFScore(sizes).apply((cost, scores, path))[0]
    ends = numpy.cumsum(sizes)
    path = path.astype(numpy.int32)
    return score, [path[end - n : end] for n, end in zip(sizes, ends, strict=True)]
