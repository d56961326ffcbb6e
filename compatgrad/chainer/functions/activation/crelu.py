"""Concatenated rectified linear unit."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_concat = frontend.bind("concat", dtype="any")
_neg = frontend.bind("neg", dtype="any")
_relu = frontend.bind("relu", dtype="any")


class CReLU(_native.NativeFunction):
    op = None

    def __init__(self, axis=1):
        if not isinstance(axis, int):
            raise TypeError(f"axis must be an integer value, not {type(axis).__name__}")
        super().__init__()
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim > self.axis, in_types[0].ndim >= -self.axis)

    def get_output_shape(self, input_shape):
        shape = list(input_shape)
        shape[self.axis] *= 2
        return tuple(shape)

    def _run_bound(self, inputs):
        (x,) = inputs
        return _concat._apply_as(self, [_relu(x), _relu(_neg(x))], self.axis)


def crelu(x, axis=1):
    """`relu(x)` and `relu(-x)`, joined along `axis`, which doubles (Shang et al. 2016)."""
    return CReLU(axis).apply((x,))[0]
