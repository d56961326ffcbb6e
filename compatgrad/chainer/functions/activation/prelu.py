"""Parametric rectified linear unit."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


def expect_parameter(x, w):
    """`w` has the leading axes of `x` but for the batch."""
    type_check.expect(x.dtype.kind == "f", w.dtype == x.dtype, x.ndim >= w.ndim + 1)
    type_check.expect(x.shape[1 : 1 + type_check.eval(w.ndim)] == w.shape)


class PReLUFunction(_native.NativeFunction):
    op = "prelu"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "W"))
        expect_parameter(*in_types)


def _checked(x, W):
    return PReLUFunction().apply((x, W))[0]


_prelu = frontend.bind("prelu", _checked)


def prelu(x, W):
    """`x` where positive, else `W * x`; `W` has the shape of `x` after the batch's axis (He et al. 2015)."""
    shape = W.shape
    return (_prelu if x.shape[1 : 1 + len(shape)] == shape else _checked)(x, W)
