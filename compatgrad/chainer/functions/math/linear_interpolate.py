"""Linear interpolation."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_add = frontend.bind("add", dtype="any")
_mul = frontend.bind("mul", dtype="any")
_one_minus = frontend.bind("rsub_scalar", dtype="any")


class LinearInterpolate(_native.NativeFunction):
    op = None

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("p", "x", "y"))
        p, x, y = in_types
        type_check.expect(
            p.dtype.kind == "f",
            x.dtype == p.dtype,
            y.dtype == p.dtype,
            p.shape == x.shape,
            p.shape == y.shape,
        )

    def _run_bound(self, inputs):
        p, x, y = inputs
        return _add._apply_as(self, _mul(p, x), _mul(_one_minus(p, 1), y))


def linear_interpolate(p, x, y):
    """`p * x + (1 - p) * y`, element-wise; InvalidType where shapes or dtypes differ."""
    return LinearInterpolate().apply((p, x, y))[0]
