"""Sequences of different lengths as one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.variable import Variable


class PadSequence(_native.NativeListFunction):
    op = "pad_sequence"

    def __init__(self, length: int | None, padding: float) -> None:
        super().__init__(length=length, value=padding)

    length = _native.parameter("length")
    padding = _native.parameter("value")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() > 0)
        for i, t in enumerate(in_types):
            type_check._argname((t,), (f"x{i}",))
            type_check.expect(t.ndim > 0, t.shape[1:] == in_types[0].shape[1:], t.dtype == in_types[0].dtype)
            if self.length is not None:
                type_check.expect(t.shape[0] <= self.length)


_pad_sequence = frontend.bind(
    "pad_sequence", lambda xs, length, padding: PadSequence(length, padding).apply(xs)[0], dtype="same"
)


def pad_sequence(xs: VariablesOrArrays, length: int | None = None, padding: float = 0) -> Variable:
    """Sequences of different lengths as the rows of one array.

    Args:
        xs: at least one, of one dtype; but for the first axis, of one shape.
        length: of the rows; None takes that of the longest sequence.
        padding: fills up the rows.

    Returns:
        Variable (len(xs), length, ...) of the dtype of `xs`.

    Raises:
        chainer.utils.type_check.InvalidType: `xs` is empty, one is longer than `length`, or dtypes or other axes
            differ.

    Example:
        >>> F.pad_sequence([np.array([1.0]), np.array([2.0, 3.0, 4.0])], padding=-1).array
        array([[ 1., -1., -1.],
               [ 2.,  3.,  4.]])

    Source: `chainer.functions.pad_sequence` of Chainer 7.8.1.
    """
    return _pad_sequence(xs if isinstance(xs, (list, _C.Variable)) else list(xs), length, padding)
