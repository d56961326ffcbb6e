"""Exponential minus one."""

from compatgrad.chainer.functions import _native


class Expm1(_native.NamedElementwise):
    op = "expm1"


expm1 = _native.unary(
    Expm1, "exp(x) - 1, element-wise, exact for small `x`.",
    example=("np.array([1e-10, 1.0])", "array([1.00000000e-10, 1.71828183e+00])"),
)  # fmt: skip
