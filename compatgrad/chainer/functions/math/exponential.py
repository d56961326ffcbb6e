"""Exponentials and logarithms."""

from compatgrad.chainer.functions import _native


class Exp(_native.NamedElementwise):
    op = "exp"


class Log(_native.NamedElementwise):
    op = "log"


class Log2(_native.NamedElementwise):
    op = "log2"


class Log10(_native.NamedElementwise):
    op = "log10"


exp = _native.unary(
    Exp, "e to the power of `x`, element-wise.",
    example=("np.array([0.0, 1.0])", "array([1.        , 2.71828183])"), name="exp",
)  # fmt: skip
log = _native.unary(
    Log, "Natural logarithm, element-wise; nan for negative elements.",
    example=("np.array([1.0, 10.0])", "array([0.        , 2.30258509])"), name="log",
)  # fmt: skip
log2 = _native.unary(
    Log2, "Logarithm to base 2, element-wise; nan for negative elements.",
    example=("np.array([1.0, 8.0])", "array([0., 3.])"), name="log2",
)  # fmt: skip
log10 = _native.unary(
    Log10, "Logarithm to base 10, element-wise; nan for negative elements.",
    example=("np.array([1.0, 100.0])", "array([0., 2.])"), name="log10",
)  # fmt: skip
