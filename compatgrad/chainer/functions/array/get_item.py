"""Indexing."""

import numpy

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class GetItem(_native.NativeFunction):
    op = "get_item"

    def __init__(self, slices):
        super().__init__(index=as_index(slices))

    slices = property(lambda self: self.op_params["index"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))


def _as_array(s):
    a = numpy.asarray(s)
    return a if a.size else a.astype(numpy.intp)  # NumPy makes floats of an empty list


def as_index(slices):
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


def get_item(x, slices):
    """`x[slices]` with all of NumPy's forms: integers, slices, Ellipsis, None, integer and boolean arrays.

    Raises IndexError for too many indices and for one out of range; in debug mode, ValueError for two
    Ellipses.
    """
    return _get_item(x, as_index(slices))


frontend.fallbacks["getitem"] = get_item
