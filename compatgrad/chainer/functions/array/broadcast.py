"""Broadcasting."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_variable


class BroadcastTo(_native.NativeFunction):
    op = "broadcast_to"

    def __init__(self, shape):
        super().__init__(shape=tuple(shape))

    shape = property(lambda self: self.op_params["shape"])

    def check_type_forward(self, in_types):
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


def broadcast_to(x, shape):
    """`x` repeated to `shape` by NumPy's broadcasting; `x` itself where it has that shape."""
    if x.shape == shape:
        return as_variable(x)
    return _broadcast_to(x, shape)


def broadcast(*args):
    """All arguments, broadcast to their common shape: one Variable, or a tuple of them."""
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
