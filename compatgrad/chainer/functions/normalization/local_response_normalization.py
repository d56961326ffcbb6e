"""Local response normalization (Krizhevsky et al. 2012, section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class LocalResponseNormalization(_native.NativeFunction):
    op = "local_response_normalization"

    def __init__(self, n: int = 5, k: float = 2, alpha: float = 1e-4, beta: float = 0.75) -> None:
        super().__init__(n=n, k=k, alpha=alpha, beta=beta)

    n = _native.parameter("n")
    k = _native.parameter("k")
    alpha = _native.parameter("alpha")
    beta = _native.parameter("beta")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim >= 2)


def _checked(x, n, k, alpha, beta):
    return LocalResponseNormalization(n, k, alpha, beta).apply((x,))[0]


_local_response_normalization = frontend.bind("local_response_normalization", _checked)


def local_response_normalization(
    x: VariableOrArray, n: int = 5, k: float = 2, alpha: float = 1e-4, beta: float = 0.75
) -> Variable:
    """`x / (k + alpha * s) ** beta` with s, the sum of the squares of neighbouring channels.

    Args:
        x: floating, (n, c, ...): samples of c channels.
        n: number of channels in the sum s: the channel itself and n // 2 on each side.
        k: constant of the divisor.
        alpha: factor of the sum.
        beta: exponent.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has fewer than two axes.

    Example:
        >>> F.local_response_normalization(np.array([[1.0, 2.0, 3.0]]), n=3, k=0, alpha=1, beta=1).array
        array([[0.2       , 0.14285714, 0.23076923]])

    Source: `chainer.functions.local_response_normalization` of Chainer 7.8.1; Krizhevsky et al. 2012, section 3.3.
    """
    if x.ndim < 2:
        return _checked(x, n, k, alpha, beta)
    return _local_response_normalization(x, n, k, alpha, beta)
