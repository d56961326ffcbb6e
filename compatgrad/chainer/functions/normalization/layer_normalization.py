"""Layer normalisation (Ba et al. 2016)."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class LayerNormalization(_native.NativeFunction):
    op = "layer_normalization"

    def __init__(self, eps=1e-5):
        super().__init__(eps=eps)

    eps = property(lambda self: self.op_params["eps"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x, gamma, beta = in_types
        type_check.expect(
            x.dtype.kind == "f", x.ndim == 2, gamma.ndim == 1, beta.ndim == 1, gamma.dtype == x.dtype,
            beta.dtype == x.dtype, gamma.shape == beta.shape,
        )  # fmt: skip


def _checked(x, gamma, beta, eps=1e-5):
    return LayerNormalization(eps).apply((x, gamma, beta))[0]


_layer_normalization = frontend.bind("layer_normalization", _checked)


def layer_normalization(x, gamma, beta, eps=1e-5):
    """`gamma * (x - mean) / sqrt(var + eps) + beta` over the units of each sample of `x` (N, units)."""
    if x.ndim != 2:
        return _checked(x, gamma, beta, eps)
    return _layer_normalization(x, gamma, beta, eps)
