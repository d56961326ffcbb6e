"""Sums."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.math._reduction import Reduction
from compatgrad.chainer.variable import as_variable


class Sum(Reduction):
    op = "sum"


class SumTo(_native.NativeFunction):
    op = "sum_to"


sum = frontend.bind(
    "sum", lambda x, axis=None, keepdims=False: Sum(axis, keepdims).apply((x,))[0], module=__name__,
    doc="Sum of a Variable or array over `axis` (None: all; an int, a tuple), kept as 1 with `keepdims`.",
)  # fmt: skip

_sum_to = frontend.bind("sum_to", lambda x, shape: SumTo(shape=tuple(shape)).apply((x,))[0], dtype="any")


def sum_to(x, shape):
    """`x` summed over the axes that broadcasting from `shape` would repeat; `x` itself where none."""
    if x.shape == shape:
        return as_variable(x)
    return _sum_to(x, shape)
