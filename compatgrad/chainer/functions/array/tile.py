"""Tiling."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Tile(_native.NativeFunction):
    op = "tile"

    def __init__(self, reps):
        if isinstance(reps, int):
            reps = (reps,)
        elif not (isinstance(reps, tuple) and all(isinstance(n, int) for n in reps)):
            raise TypeError(f"reps must be int or tuple of ints.\nActual: {type(reps)}")
        if not all(n >= 0 for n in reps):
            raise ValueError(f"All elements in reps must be zero or larger. Actual: {reps}")
        super().__init__(reps=reps)

    reps = property(lambda self: self.op_params["reps"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1, in_types[0].ndim >= 0)


tile = frontend.bind(
    "tile", lambda x, reps: Tile(reps).apply((x,))[0], dtype="any", module=__name__,
    doc="`x` repeated as often as `reps` (an int or a tuple, one per axis) says, as numpy.tile.",
)  # fmt: skip
