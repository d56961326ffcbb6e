"""Connectionist temporal classification."""

import collections.abc

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.log_softmax import log_softmax
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.array.where import where
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.logsumexp import logsumexp
from compatgrad.chainer.utils import type_check


class ConnectionistTemporalClassification(_composed.CallableFunction):
    def __init__(self, blank_symbol, reduce="mean"):
        super().__init__()
        _composed.check_reduce(reduce, "mean", "no")
        self.blank_symbol = blank_symbol
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("input_length", "label_length", "t", "x"))
        input_length, label_length, t, x = in_types
        for length in (input_length, label_length):
            type_check.expect(length.dtype == numpy.int32, length.ndim == 1, length.shape[0] == x.shape[1])
        type_check.expect(
            t.ndim == 2, t.dtype == numpy.int32, x.ndim == 3, x.dtype.kind == "f", t.shape[0] == x.shape[1]
        )

    def compose(self, input_length, label_length, t, x):
        """The forward recursion over paths: labels with blanks between and around them."""
        xp, zero = x.xp, -1e4 if x.dtype == numpy.float16 else -1e10  # the logarithm of no probability
        batch, labels = t.shape
        size = 2 * labels + 1
        path = xp.full((batch, size), self.blank_symbol, dtype=numpy.int32)
        path[:, 1::2] = t.array
        rows, places = xp.arange(batch)[:, None], xp.arange(size)
        scores = log_softmax(x, axis=2)[xp.arange(len(x))[:, None, None], rows, path]
        impossible = xp.full((batch, size), zero, dtype=x.dtype)
        may_skip = (places >= 2) & (path != xp.roll(path, 2, axis=1))

        alpha = where(xp.broadcast_to(places < 2, path.shape), scores[0], impossible)
        for step in range(1, len(x)):
            one = concat([impossible[:, :1], alpha[:, :-1]])
            two = where(may_skip, concat([impossible[:, :2], alpha[:, :-2]]), impossible)
            following = logsumexp(stack([alpha, one, two]), axis=0) + scores[step]
            goes_on = xp.broadcast_to((step < input_length.array)[:, None], path.shape)
            alpha = where(goes_on, following, alpha)
        last = 2 * label_length.array[:, None]
        ends = where((places == last) | (places == last - 1), alpha, impossible)
        loss = -logsumexp(ends, axis=1)
        return loss if self.reduce == "no" else average(loss)


def connectionist_temporal_classification(x, t, blank_symbol, input_length=None, label_length=None, reduce="mean"):
    """Negative log-likelihood of label sequences t (N, L), int32, given scores x, a sequence of (N, labels)
    per step.

    `blank_symbol` is the label between the others. `input_length` and `label_length` (N,), int32: how much of
    x and t counts; all by default. `reduce`: "mean", or "no" for one loss per sequence; ValueError for
    another. TypeError where x is no sequence or `blank_symbol` no int, InvalidType where shapes or dtypes do
    not fit. Graves et al. 2006.
    """
    if not isinstance(x, collections.abc.Sequence):
        raise TypeError(f"x must be a list of Variables, not {type(x).__name__}")
    if not isinstance(blank_symbol, int):
        raise TypeError(f"blank_symbol must be non-negative integer. Actual: {blank_symbol!r}")
    assert 0 <= blank_symbol < x[0].shape[1], f"blank_symbol must be one of {x[0].shape[1]} labels, not {blank_symbol}"
    assert x[0].ndim == 2, f"x must hold arrays of shape (N, labels), not {x[0].shape}"
    xp = backend.get_array_module(x[0])
    if input_length is None:
        input_length = xp.full(len(x[0]), len(x), dtype=numpy.int32)
    if label_length is None:
        label_length = xp.full(len(t), t.shape[1], dtype=numpy.int32)
    function = ConnectionistTemporalClassification(blank_symbol, reduce)
    return function(input_length, label_length, t, stack(x))
