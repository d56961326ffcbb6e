"""Concatenation along an axis."""

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Concat(_native.NativeListFunction):
    op = "concat"

    def __init__(self, axis=1):
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, not {type(axis).__name__}")
        super().__init__(axis=axis)

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        type_check.expect(in_types[0].ndim > type_check.make_variable(self.axis, "axis"))
        type_check.expect(-in_types[0].ndim <= self.axis, self.axis < in_types[0].ndim)
        ndim = type_check.eval(in_types[0].ndim)
        axis = self.axis % ndim
        for i in range(1, type_check.eval(in_types.size())):
            type_check.expect(in_types[0].dtype == in_types[i].dtype, in_types[0].ndim == in_types[i].ndim)
            for d in range(ndim):
                if d != axis:
                    type_check.expect(in_types[0].shape[d] == in_types[i].shape[d])


_concat = frontend.bind("concat", lambda xs, axis: Concat(axis).apply(xs)[0], dtype="same")


def concat(xs, axis=1):
    """The Variables or arrays `xs`, joined along `axis`. InvalidType where other axes differ in length."""
    return _concat(xs if isinstance(xs, (list, _C.Variable)) else list(xs), axis)
