"""Splitting along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


def _indices_or_sections(value):
    if isinstance(value, numpy.ndarray):
        if value.dtype.kind != "i" and value.size > 0:
            raise TypeError(f"indices_or_sections must be integers, not {value.dtype}")
        if value.ndim >= 2:
            raise TypeError(f"indices_or_sections must be 1-D sequence. Actual shape: {value.shape}")
        value = value.tolist()
    elif isinstance(value, Sequence):
        value = list(value)
    elif not isinstance(value, (int, numpy.integer)):
        raise TypeError(f"indices_or_sections must be integer or 1-D array.\nActual: {type(value)}")
    if not isinstance(value, list):
        return None, int(value)
    if _C.get_mode("debug") and any(p > n for p, n in zip(value, value[1:], strict=False)):
        raise ValueError(f"indices_or_sections must be sorted. Actual: {value}")
    return value, None


class SplitAxis(_native.NativeFunction):
    documented = "split_axis"
    op = "split"
    indices = sections = None  # a node that the engine made ran no constructor

    def __init__(self, indices_or_sections: int | Sequence[int] | NdArray, axis: int) -> None:
        self.indices, self.sections = _indices_or_sections(indices_or_sections)
        super().__init__()
        self.axis = axis

    @property
    def indices_or_sections(self) -> int | list[int]:
        """The call's argument: the indices at which parts begin, or the number of parts."""
        if self.sections is not None:
            return self.sections
        return self.op_params["indices"] if self.indices is None else self.indices

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)
        type_check.expect(in_types[0].ndim > self.axis)
        length = in_types[0].shape[self.axis]
        if self.indices is None:
            type_check.expect(length % type_check.make_variable(self.sections, "sections") == 0)
        elif self.indices:
            type_check.expect(length >= type_check.make_variable(self.indices[-1], "max_index"))

    def _run_bound(self, inputs):
        indices = self.indices
        if indices is None:
            step = inputs[0].shape[self.axis] // self.sections
            indices = [step * i for i in range(1, self.sections)]
        return _bound.split._apply_as(self, inputs[0], indices, self.axis)


def split_axis(
    x: VariableOrArray, indices_or_sections: int | Sequence[int] | NdArray, axis: int, force_tuple: bool = True
) -> tuple[Variable, ...] | Variable:
    """Parts of `x` along an axis.

    Args:
        x: any dtype and shape.
        indices_or_sections: an int is the number of parts, of equal length; a sequence holds the indices at which a new
            part begins.
        axis: along which; may be negative.
        force_tuple: False returns a single part without a tuple.

    Returns:
        Tuple of Variables of the dtype of `x`.

    Raises:
        TypeError: `indices_or_sections` is of another kind.
        ValueError: in debug mode: a sequence is not sorted.
        IndexError: `x` has no such negative axis.
        chainer.utils.type_check.InvalidType: `x` has no such axis, its length is no multiple of an int, or an index is
            beyond its end.

    Example:
        >>> x, y = F.split_axis(np.array([1.0, 2.0, 3.0]), [1], axis=0)
        >>> y.array
        array([2., 3.])

    Source: `chainer.functions.split_axis` of Chainer 7.8.1.
    """
    n = indices_or_sections
    if type(n) is int and n > 1 and -x.ndim <= axis < x.ndim and x.shape[axis] % n == 0:
        step = x.shape[axis] // n
        return _bound.split(x, [step * i for i in range(1, n)], axis)
    in_range = type(n) is list and n and -x.ndim <= axis < x.ndim and n[-1] <= x.shape[axis]
    if in_range and not _C.get_mode("debug"):
        ys = _bound.split(x, n, axis)
    else:
        ys = SplitAxis(n, axis).apply((x,))
    return ys if force_tuple or len(ys) != 1 else ys[0]
