"""Local response normalisation (Krizhevsky et al. 2012, section 3.3)."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class LocalResponseNormalization(_native.NativeFunction):
    op = "local_response_normalization"

    def __init__(self, n=5, k=2, alpha=1e-4, beta=0.75):
        super().__init__(n=n, k=k, alpha=alpha, beta=beta)

    n = property(lambda self: self.op_params["n"])
    k = property(lambda self: self.op_params["k"])
    alpha = property(lambda self: self.op_params["alpha"])
    beta = property(lambda self: self.op_params["beta"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim >= 2)


def _checked(x, n, k, alpha, beta):
    return LocalResponseNormalization(n, k, alpha, beta).apply((x,))[0]


_local_response_normalization = frontend.bind("local_response_normalization", _checked)


def local_response_normalization(x, n=5, k=2, alpha=1e-4, beta=0.75):
    """`x / (k + alpha * s) ** beta`, where `s` sums the squares of a channel and its `n // 2` neighbours
    on each side.

    `x` is (N, C, …); raises InvalidType for fewer axes.
    """
    if x.ndim < 2:
        return _checked(x, n, k, alpha, beta)
    return _local_response_normalization(x, n, k, alpha, beta)
