"""Logarithm of the normal distribution function."""

from compatgrad.chainer.functions import _native


class LogNdtr(_native.NamedElementwise):
    op = "log_ndtr"


log_ndtr = _native.unary(
    LogNdtr, "log(ndtr(x)), element-wise, exact where `ndtr` underflows.",
    example=("np.array([0.0, -100.0])", "array([-6.93147181e-01, -5.00552421e+03])"),
)  # fmt: skip
