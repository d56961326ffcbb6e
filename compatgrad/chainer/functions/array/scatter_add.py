"""Addition at indices."""

from compatgrad import _C
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.get_item import as_index
from compatgrad.chainer.utils import type_check


class ScatterAdd(_native.NativeFunction):
    op = "scatter_add"

    def __init__(self, slices):
        super().__init__(index=as_index(slices))

    slices = property(lambda self: self.op_params["index"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("a", "b"))
        type_check.expect(in_types[0].ndim >= sum(s is not None for s in self.slices))

    def _run_bound(self, inputs):
        a, b = inputs
        array = a.array if isinstance(a, _C.Variable) else a
        if array[self.slices].shape != b.shape:
            raise ValueError(
                "Chainer does not support automatic broadcasting of variables. "
                f"Actual shapes: {array[self.slices].shape} of the slices, {b.shape} of b"
            )
        return super()._run_bound(inputs)


def scatter_add(a, slices, b):
    """A copy of `a` to which `b` is added at `a[slices]`; where an element is named twice, both are added.

    `b` must have the shape of `a[slices]`: ValueError otherwise. `slices`: as in `get_item`.
    """
    return ScatterAdd(slices).apply((a, b))[0]
