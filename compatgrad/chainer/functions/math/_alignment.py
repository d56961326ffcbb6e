"""Broadcasting of parameters whose axes are some of the axes of an array."""

from compatgrad import _C
from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.array.reshape import reshape


def aligned(y, x, axis):
    """`y` broadcast to the shape of `x`: the axes of `y` are those of `x` from `axis` on."""
    shape, part = x.shape, y.shape
    if _C.get_mode("debug"):
        assert shape[axis : axis + len(part)] == part, (
            f"axes of x from {axis} on must have shape {part}; x has shape {shape}"
        )
    return broadcast_to(reshape(y, (1,) * axis + part + (1,) * (len(shape) - axis - len(part))), shape)
