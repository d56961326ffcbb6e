"""Clipping."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native


class Clip(_native.NativeFunction):
    op = "clip"
    is_elementwise = True

    def __init__(self, x_min, x_max):
        if x_min is None and x_max is None:
            raise ValueError("must set either max or min")
        if x_min is not None and x_max is not None and x_min >= x_max:
            raise ValueError(f"x_min must be less than x_max. Actual: {x_min} and {x_max}")
        super().__init__(min=x_min, max=x_max)

    x_min = property(lambda self: self.op_params["min"])
    x_max = property(lambda self: self.op_params["max"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


_clip = frontend.bind("clip", lambda x, x_min, x_max: Clip(x_min, x_max).apply((x,))[0])


def clip(x, x_min, x_max):
    """`x` limited to [x_min, x_max]; None for no limit. The limits themselves pass the gradient."""
    if x_min is None or x_max is None or x_min >= x_max:
        return Clip(x_min, x_max).apply((x,))[0]
    return _clip(x, x_min, x_max)
