"""Square roots."""

from compatgrad.chainer.functions import _native


class Sqrt(_native.NamedElementwise):
    op = "sqrt"


sqrt = _native.unary(
    Sqrt, "Square root, element-wise; nan for negative elements.",
    example=("np.array([4.0, 9.0])", "array([2., 3.])"),
)  # fmt: skip


def rsqrt(x):
    """Element-wise 1 / sqrt(x)."""
    return 1.0 / sqrt(x)
