"""Connectionist temporal classification."""

import collections.abc

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.utils import type_check


class ConnectionistTemporalClassification(_native.NativeFunction):
    op = "ctc_loss"

    def __init__(self, blank_symbol, reduce="mean"):
        _composed.check_reduce(reduce, "mean", "no")
        super().__init__(blank=blank_symbol, reduce=reduce)

    blank_symbol = property(lambda self: self.op_params["blank"])
    reduce = property(lambda self: self.op_params["reduce"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "t", "input_length", "label_length"))
        x, t, input_length, label_length = in_types
        for length in (input_length, label_length):
            type_check.expect(length.dtype == numpy.int32, length.ndim == 1, length.shape[0] == x.shape[1])
        type_check.expect(
            t.ndim == 2, t.dtype == numpy.int32, x.ndim == 3, x.dtype.kind == "f", t.shape[0] == x.shape[1]
        )

    def _run_bound(self, inputs):
        x, t, *lengths = inputs
        labels, classes = getattr(t, "array", t), x.shape[2]
        wrong = (labels < -classes) | (labels >= classes)
        if wrong.any():
            raise IndexError(f"t holds label {labels[wrong][0]}, x has scores of {classes} labels")
        lowest = -1e4 if x.dtype == numpy.float16 else -1e10  # the original's logarithm of no probability
        return self._bound._apply_as(self, x, labels % classes, *lengths, lowest=lowest, **self.op_params)

    def __call__(self, input_length, label_length, t, x):
        return self.apply((x, t, input_length, label_length))[0]


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
