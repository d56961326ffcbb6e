"""Largest and smallest elements over axes."""

import numpy

from compatgrad.chainer import backend, function_node
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.math._reduction import Reduction
from compatgrad.chainer.utils import type_check


class Max(Reduction):
    op = "max"


class Min(Reduction):
    op = "min"


class IndexSelectorBase(function_node.FunctionNode):
    """Indices of extreme elements: not differentiable."""

    def __init__(self, axis=None):
        if axis is not None and not isinstance(axis, int):
            raise TypeError(f"axis: None or int are required, not {type(axis).__name__}")
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == "f")
        if self.axis is not None:
            _native.expect_axis(in_types[0], self.axis)

    def forward(self, inputs):
        return (self._select(backend.get_array_module(*inputs), inputs[0]),)

    def backward(self, indexes, grad_outputs):
        return (None,)


class ArgMax(IndexSelectorBase):
    def _select(self, xp, x):
        return xp.asarray(x.argmax(self.axis)).astype(numpy.int32)


class ArgMin(IndexSelectorBase):
    def _select(self, xp, x):
        return xp.asarray(x.argmin(self.axis)).astype(numpy.int32)


max = frontend.bind(
    "max", lambda x, axis=None, keepdims=False: Max(axis, keepdims).apply((x,))[0], module=__name__,
    doc="Maximum of `x` over `axis` (None: all; an int, a tuple). All elements equal to it get the gradient.",
)  # fmt: skip
min = frontend.bind(
    "min", lambda x, axis=None, keepdims=False: Min(axis, keepdims).apply((x,))[0], module=__name__,
    doc="Minimum of `x` over `axis` (None: all; an int, a tuple). All elements equal to it get the gradient.",
)  # fmt: skip


def argmax(x, axis=None):
    """Index of the maximum along `axis` (None: in the flattened array), int32."""
    return ArgMax(axis).apply((x,))[0]


def argmin(x, axis=None):
    """Index of the minimum along `axis` (None: in the flattened array), int32."""
    return ArgMin(axis).apply((x,))[0]
