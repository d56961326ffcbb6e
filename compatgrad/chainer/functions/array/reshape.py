"""Reshaping."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_variable


class Reshape(_native.NativeFunction):
    op = "reshape"

    def __init__(self, shape):
        super().__init__(shape=tuple(shape))
        if sum(n < 0 for n in self.shape) > 1:
            raise AssertionError(f"shape: at most one entry may be -1. Actual: {self.shape}")

    shape = property(lambda self: self.op_params["shape"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        shape = self.shape
        if -1 not in shape:
            type_check.expect(type_check.prod(in_types[0].shape) == type_check.prod(shape))
        else:
            known = 1
            for n in shape:
                known *= n if n > 0 else 1
            known = type_check.make_variable(known, f"known_size(={known})")
            type_check.expect(type_check.prod(in_types[0].shape) % known == 0)


_reshape = frontend.bind("reshape", lambda x, shape: Reshape(shape).apply((x,))[0], dtype="any")


def reshape(x, shape):
    """`x` with the same elements and another shape (a tuple of int; one entry may be -1).

    Gives `x` itself where the shape is the same. Raises InvalidType where the sizes differ.
    """
    if x.shape == shape:
        return as_variable(x)
    return _reshape(x, shape)
