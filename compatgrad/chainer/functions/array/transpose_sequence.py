"""Sequences by time instead of by sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.variable import Variable


class TransposeSequence(_native.NativeFunction):
    documented = "transpose_sequence"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        for p, n in zip(in_types, in_types[1:], strict=False):
            type_check.expect(p.shape[0] >= n.shape[0], p.shape[1:] == n.shape[1:])

    def _run_bound(self, inputs):
        lengths = numpy.array([len(x) for x in inputs])
        if lengths[-1] == lengths[0]:
            return _bound.unstack._apply_as(self, _bound.stack(list(inputs), 1), 0)
        present = numpy.arange(lengths[0])[:, None] < lengths  # (time, sample)
        starts = numpy.cumsum(lengths) - lengths
        order = (starts + numpy.arange(lengths[0])[:, None])[present]
        ends = numpy.cumsum(present.sum(axis=1))[:-1]
        return _bound.split._apply_as(self, _bound.get_item(_bound.concat(list(inputs), 0), (order,)), ends.tolist(), 0)


def transpose_sequence(xs: VariablesOrArrays) -> tuple[Variable, ...]:
    """Sequences by time instead of by sample.

    Args:
        xs: one array per sample, its first axis time; lengths descend, other axes are equal.

    Returns:
        Tuple of Variables, as many as the longest sequence has elements: the i-th holds the i-th elements of all
        samples that are longer than i.

    Raises:
        chainer.utils.type_check.InvalidType: lengths ascend somewhere, or other axes differ.

    Example:
        >>> xs = [np.array([1.0, 2.0]), np.array([3.0])]
        >>> [y.array for y in F.transpose_sequence(xs)]
        [array([1., 3.]), array([2.])]

    Source: `chainer.functions.transpose_sequence` of Chainer 7.8.1.
    """
    if not len(xs) or not len(xs[0]):
        return ()
    return TransposeSequence().apply(tuple(xs))
