"""Conditional random field over sequences."""

import numpy

from compatgrad import _C
from compatgrad.chainer import backend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array


class _OverChain(_native.NativeFunction):
    """Of costs (K, K) and scores (rows, K) of all steps, one after the other; `sizes` are the rows of each step."""

    def __init__(self, sizes):
        super().__init__(sizes=sizes)

    def check_type_forward(self, in_types):
        type_check._argname(in_types[:2], ("cost", "xs"))
        cost, xs = in_types[:2]
        type_check.expect(xs.dtype.kind == "f", xs.ndim == 2, cost.ndim == 2, cost.dtype == xs.dtype)
        type_check.expect(cost.shape[0] == xs.shape[1], cost.shape[1] == xs.shape[1])


class CRFLogPartition(_OverChain):
    op = "crf_log_partition"


class CRFScore(_OverChain):
    op = "crf_score"


class CRFPath(_OverChain):
    op = "crf_path"


def _packed(xs):
    """The scores of all steps in one Variable, and how many each step has, which may not grow."""
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


def crf1d(cost, xs, ys, reduce="mean"):
    """Negative log-likelihood of label sequences under a linear-chain conditional random field.

    `cost` (K, K) scores transitions. `xs` and `ys` hold, per step, scores (B, K) and labels (B,) of the
    sequences that last so long, longest first. `reduce`: "mean", or "no" for one loss per sequence;
    ValueError for another.
    """
    _composed.check_reduce(reduce, "mean", "no")
    assert xs[0].shape[1] == cost.shape[0], (
        f"xs must have a score for each of {cost.shape[0]} labels, not {xs[0].shape[1]}"
    )
    labels = _packed_labels(xs, ys)
    scores, sizes = _packed(xs)
    if ((labels < -len(cost)) | (labels >= len(cost))).any():
        raise IndexError(f"ys holds labels {labels.min()} to {labels.max()}, xs has scores of {len(cost)} labels")
    (log_partition,) = CRFLogPartition(sizes).apply((cost, scores))
    loss = log_partition - CRFScore(sizes).apply((cost, scores, labels))[0]
    return _sum(loss) / sizes[0] if reduce == "mean" else loss


def argmax_crf1d(cost, xs):
    """Labels of the best path for each sequence: its score (B,), and a list with an array of labels per step.

    The arguments are those of `crf1d`.
    """
    scores, sizes = _packed(xs)
    path = CRFPath(sizes).apply((cost, scores))[0].array
    score = CRFScore(sizes).apply((cost, scores, path))[0]
    ends = numpy.cumsum(sizes)
    path = path.astype(numpy.int32)
    return score, [path[end - n : end] for n, end in zip(sizes, ends, strict=True)]
