"""Broadcasting."""

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


class BroadcastTo(_native.NativeFunction):
    op = "broadcast_to"

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__(shape=tuple(shape))

    shape = _native.parameter("shape")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)
        target = self.shape
        ndim = type_check.make_variable(len(target), "len(shape)")
        type_check.expect(in_types[0].ndim <= ndim)
        shape = type_check.eval(in_types[0].shape)
        for i in range(-1, -len(shape) - 1, -1):
            if shape[i] == target[i] or shape[i] == 1:
                continue
            expected = f"in_type[0].shape[{i}] == {target[i]}"
            if target[i] != 1:
                expected += f" or in_type[0].shape[{i}] == 1"
            raise type_check.InvalidType(expected, f"in_type[0].shape: {shape}")


_broadcast_to = frontend.bind("broadcast_to", lambda x, shape: BroadcastTo(shape).apply((x,))[0], dtype="any")


def broadcast_to(x: VariableOrArray, shape: Sequence[int]) -> Variable:
    """`x` repeated to `shape` by NumPy's rules of broadcasting.

    Args:
        x: any dtype; its axes, counted from the last, are as long as those of `shape` or have length 1.
        shape: of the result, with at least as many axes as `x` has.

    Returns:
        Variable of the dtype of `x`; `x` itself where it is a Variable of that shape.

    Raises:
        chainer.utils.type_check.InvalidType: `x` does not fit `shape`.

    Example:
        >>> F.broadcast_to(np.array([1.0, 2.0]), (2, 2)).array
        array([[1., 2.],
               [1., 2.]])

    Source: `chainer.functions.broadcast_to` of Chainer 7.8.1.
    """
    if x.shape == shape:
        return as_variable(x)
    return _broadcast_to(x, shape)


def broadcast(*args: VariableOrArray) -> Variable | tuple[Variable, ...]:
    """All arguments, broadcast to their common shape.

    Args:
        *args: at least one, any dtypes.

    Returns:
        Tuple of Variables, one per argument; with one argument, a Variable.

    Raises:
        TypeError: an argument is neither a Variable nor an array.
        chainer.utils.type_check.InvalidType: no arguments, or their shapes cannot be broadcast.

    Example:
        >>> x, y = F.broadcast(np.array([1.0, 2.0]), np.array([[3.0], [4.0]]))
        >>> x.shape, y.shape
        ((2, 2), (2, 2))

    Source: `chainer.functions.broadcast` of Chainer 7.8.1.
    """
    xs = [as_variable(x) for x in args]
    in_types = type_check.get_types(tuple([x.array for x in xs]), "in_types", False)
    type_check.expect(in_types.size() > 0)
    type_check.expect_broadcast_shapes(*[t.shape for t in in_types])
    shape = _broadcast_shape([x.shape for x in xs])
    ys = tuple([_broadcast_to(x, shape) for x in xs])
    return ys[0] if len(ys) == 1 else ys


def _broadcast_shape(shapes):
    ndim = max(len(s) for s in shapes)
    columns = zip(*[(1,) * (ndim - len(s)) + tuple(s) for s in shapes], strict=True)
    return tuple(next((n for n in column if n != 1), 1) for column in columns)
