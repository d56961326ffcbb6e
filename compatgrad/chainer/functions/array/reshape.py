"""Reshaping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Reshape(_native.NativeFunction):
    op = "reshape"

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__(shape=tuple(shape))
        if sum(n < 0 for n in self.shape) > 1:
            raise AssertionError(f"shape: at most one entry may be -1. Actual: {self.shape}")

    shape = _native.parameter("shape")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
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


def reshape(x: VariableOrArray, shape: Sequence[int]) -> Variable:
    """The elements of `x`, in C order, in another shape.

    Args:
        x: any dtype and shape.
        shape: as many elements as `x` has; one entry may be -1 and is computed from the others.

    Returns:
        Variable of the dtype of `x`; `x` itself where it is a Variable of that shape.

    Raises:
        AssertionError: more than one entry is -1.
        chainer.utils.type_check.InvalidType: the numbers of elements differ.

    Example:
        >>> F.reshape(np.arange(6.0), (2, -1)).array
        array([[0., 1., 2.],
               [3., 4., 5.]])

    Source: `chainer.functions.reshape` of Chainer 7.8.1.
    """
    if x.shape == shape:
        return as_variable(x)
    return _reshape(x, shape)
