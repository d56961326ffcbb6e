"""Tensor contraction over chosen axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.functions.array.cast import promoted
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import size_of_shape, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _sequence(axes):
    return (int(axes),) if numpy.isscalar(axes) else tuple(axes)


class TensorDot(_native.NativeFunction):
    documented = "tensordot"

    def __init__(self, axes: int | Sequence[int | Sequence[int]] = 2) -> None:
        if isinstance(axes, Sequence):
            if len(axes) != 2:
                raise ValueError(
                    f"axes must be a pair of sequence of integers when it is a list or tuple. Actual: {axes}"
                )
        elif not isinstance(axes, int):
            raise TypeError(f"axes must be a pair of sequence of integers or an integer, not {type(axes).__name__}")
        super().__init__()
        self.axes = axes

    @type_check._expects
    def check_type_forward(self, a, b):
        return a.dtype.kind == "f", b.dtype.kind == "f"

    def _run_bound(self, inputs):
        a, b = inputs
        if isinstance(self.axes, Sequence):
            over_a, over_b = map(_sequence, self.axes)
        else:
            over_a, over_b = tuple(range(a.ndim - self.axes, a.ndim)), tuple(range(self.axes))
        if len(over_a) != len(over_b):
            raise ValueError(f"axes count mismatch: {over_a} of a, {over_b} of b")
        if a.ndim < len(over_a) or b.ndim < len(over_b):
            raise ValueError(f"dimension of input tensors must be greater equal to dot-axes count ({len(over_a)})")
        if any(a.shape[i] != b.shape[j] for i, j in zip(over_a, over_b, strict=True)):
            raise ValueError(f"shape mismatch: a {a.shape} over axes {over_a}, b {b.shape} over axes {over_b}")
        a, b = promoted(a, b)
        over_a, over_b = [i % a.ndim for i in over_a], [j % b.ndim for j in over_b]
        keep_a = [i for i in range(a.ndim) if i not in over_a]
        keep_b = [j for j in range(b.ndim) if j not in over_b]
        shape_a, shape_b = [a.shape[i] for i in keep_a], [b.shape[j] for j in keep_b]
        n = size_of_shape([a.shape[i] for i in over_a])
        a = reshape(transpose(a, keep_a + over_a), (size_of_shape(shape_a), n))
        b = reshape(transpose(b, over_b + keep_b), (n, size_of_shape(shape_b)))
        return _bound.reshape._apply_as(self, matmul(a, b), (*shape_a, *shape_b))


def tensordot(a: VariableOrArray, b: VariableOrArray, axes: int | Sequence[int | Sequence[int]] = 2) -> Variable:
    """Sums of products over chosen axes, as numpy.tensordot.

    Args:
        a: floating, any shape.
        b: floating; its chosen axes are as long as those of `a`.
        axes: an int: an int n for the last n axes of `a` and the first n of `b`; or a pair: the axes of `a` and those
            of `b`, ints or sequences.

    Returns:
        Variable of the dtype to which NumPy promotes the inputs: the other axes of `a`, then those of `b`.

    Raises:
        ValueError: `axes` is no pair, or the axes differ in number or in length.
        TypeError: `axes` is of another kind.
        IndexError: there is no such axis.
        chainer.utils.type_check.InvalidType: `a` or `b` is not floating-point.

    Example:
        >>> a = np.arange(6.0).reshape(2, 3)
        >>> F.tensordot(a, a, axes=(1, 1)).array
        array([[ 5., 14.],
               [14., 50.]])

    Source: `chainer.functions.tensordot` of Chainer 7.8.1.
    """
    return TensorDot(axes).apply((a, b))[0]
