"""Indexing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class _Indexed(_native.NativeFunction):
    """Base of functions that select elements by an index."""

    def __init__(self, slices: Any) -> None:
        super().__init__(index=_as_index(slices))

    slices = _native.parameter("index")


class GetItem(_Indexed):
    op = "get_item"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))


def _as_array(s):
    a = numpy.asarray(s)
    return a if a.size else a.astype(numpy.intp)  # floats, which NumPy makes of [], cannot index


def _as_index(slices):
    if isinstance(slices, list):
        if all(isinstance(s, int) for s in slices):
            slices = (slices,)
        slices = tuple(slices)
    elif not isinstance(slices, tuple):
        slices = (slices,)
    if _C.get_mode("debug") and sum(s is Ellipsis for s in slices) > 1:
        raise ValueError(f"Only one Ellipsis is allowed. Actual: {slices}")
    return tuple([_as_array(s) if isinstance(s, list) else s for s in slices])


_get_item = frontend.bind("get_item", lambda x, index: GetItem(index).apply((x,))[0], dtype="any")


def get_item(x: VariableOrArray, slices: Any) -> Variable:
    """`x[slices]`, with all of NumPy's ways to index.

    Args:
        x: any dtype and shape.
        slices: an int, a slice, Ellipsis, None, an array or list of ints or of bools, or a tuple of these; a list of
            ints is one index.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        IndexError: too many indices, or one is out of range.
        TypeError: an index of another kind.
        ValueError: in debug mode: more than one Ellipsis.

    Example:
        >>> F.get_item(np.array([[1.0, 2.0], [3.0, 4.0]]), (0, slice(1, None))).array
        array([2.])

    Source: `chainer.functions.get_item` of Chainer 7.8.1.
    """
    shape = getattr(x, "shape", ())  # what is no array gets its error below
    if slices.__class__ is int and shape and not -shape[0] <= slices < shape[0]:
        # Python asks for this index at the end of each loop over a Variable; ATen's error would take 20 times as long
        raise IndexError(f"index {slices} is out of bounds for axis 0 with size {shape[0]}")
    return _get_item(x, _as_index(slices))


frontend.fallbacks["getitem"] = get_item
