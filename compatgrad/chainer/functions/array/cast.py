"""Change of dtype."""

import numpy

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_variable


class Cast(_native.NativeFunction):
    op = "cast"

    def __init__(self, typ):
        super().__init__(dtype=numpy.dtype(typ))

    type = property(lambda self: self.op_params["dtype"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))


_cast = frontend.bind("cast", lambda x, typ: Cast(typ).apply((x,))[0])


def cast(x, typ):
    """`x` in the dtype `typ`; `x` itself where it has that dtype and nothing is recorded."""
    if x.dtype == typ and not (isinstance(x, _C.Variable) and _C.get_mode("enable_backprop")):
        return as_variable(x)
    return _cast(x, typ)


def promoted(*xs):
    """The floating `xs` in the dtype that NumPy would compute with."""
    dtype = numpy.result_type(*[x.dtype for x in xs])
    return [x if x.dtype == dtype else _cast(x, dtype) for x in xs]


def in_first_dtype(inputs):
    """The inputs in the dtype of the first one, for ops that take one dtype."""
    dtype = inputs[0].dtype
    if all([x.dtype == dtype for x in inputs[1:]]):
        return inputs
    return tuple([x if x.dtype == dtype else cast(x, dtype) for x in inputs])
