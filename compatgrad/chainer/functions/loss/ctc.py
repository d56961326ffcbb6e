"""Connectionist temporal classification."""

from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class ConnectionistTemporalClassification(_native.NativeFunction):
    documented = "connectionist_temporal_classification"
    op = "ctc_loss"

    def __init__(self, blank_symbol: int, reduce: str = "mean") -> None:
        _composed.check_reduce(reduce, "mean", "no")
        super().__init__(blank=blank_symbol, reduce=reduce)

    blank_symbol = _native.parameter("blank")
    reduce = _native.parameter("reduce")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
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
        lowest = -1e4 if x.dtype == numpy.float16 else -1e10  # Chainer's logarithm of the probability 0
        return self._bound._apply_as(self, x, labels % classes, *lengths, lowest=lowest, **self.op_params)

    def __call__(self, input_length, label_length, t, x):
        return self.apply((x, t, input_length, label_length))[0]


def connectionist_temporal_classification(
    x: Sequence[VariableOrArray],
    t: VariableOrArray,
    blank_symbol: int,
    input_length: VariableOrArray | None = None,
    label_length: VariableOrArray | None = None,
    reduce: str = "mean",
) -> Variable:
    """Negative log-likelihood of label sequences, summed over all alignments of the labels with the steps of the
    scores.

    Args:
        x: sequence of floating (n, labels), one for each step: scores, of which softmax is taken.
        t: int32, (n, l): label sequences.
        blank_symbol: the label that stands for no label at a step.
        input_length: int32, (n,): the number of steps of each sequence; None for all.
        label_length: int32, (n,): the number of labels of `t` of each sequence; None for all.
        reduce: "mean" over the sequences, or "no" for one loss per sequence.

    Returns:
        Variable of the dtype of `x` and shape (), or (n,) with `reduce="no"`.

    Raises:
        TypeError: `x` is no sequence, or `blank_symbol` no int.
        AssertionError: `blank_symbol` is none of the labels, or `x` does not hold arrays of two axes.
        ValueError: `reduce` is neither.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        IndexError: `t` holds a label for which there is no score.

    Example:
        >>> x = [np.log([[0.5, 0.5]]), np.log([[0.5, 0.5]])]  # two steps of labels 0 and blank 1
        >>> F.exp(-F.connectionist_temporal_classification(x, np.array([[0]], np.int32), blank_symbol=1)).array
        array(0.75)

    Source: `chainer.functions.connectionist_temporal_classification` of Chainer 7.8.1; Graves et al. 2006.
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
