"""Sequences by time instead of by sample."""

import numpy

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_concat = frontend.bind("concat", dtype="any")
_get_item = frontend.bind("get_item", dtype="any")
_split = frontend.bind("split", dtype="any")
_stack = frontend.bind("stack", dtype="any")
_unstack = frontend.bind("unstack", dtype="any")


class TransposeSequence(_native.NativeFunction):
    op = None

    def check_type_forward(self, in_types):
        for p, n in zip(in_types, in_types[1:], strict=False):
            type_check.expect(p.shape[0] >= n.shape[0], p.shape[1:] == n.shape[1:])

    def _run_bound(self, inputs):
        lengths = numpy.array([len(x) for x in inputs])
        if lengths[-1] == lengths[0]:
            return _unstack._apply_as(self, _stack(list(inputs), 1), 0)
        present = numpy.arange(lengths[0])[:, None] < lengths  # (time, sample)
        starts = numpy.cumsum(lengths) - lengths
        order = (starts + numpy.arange(lengths[0])[:, None])[present]
        ends = numpy.cumsum(present.sum(axis=1))[:-1]
        return _split._apply_as(self, _get_item(_concat(list(inputs), 0), (order,)), ends.tolist(), 0)


def transpose_sequence(xs):
    """Sequences `xs` (samples, longest first) by time: the i-th array holds the i-th elements.

    Sequences that are shorter have no part in it. Gives a tuple of Variables. InvalidType unless lengths
    descend and other axes are equal.
    """
    if not len(xs) or not len(xs[0]):
        return ()
    return TransposeSequence().apply(tuple(xs))
