"""Signs."""

from compatgrad.chainer import backend, utils  # noqa: F401  programs find them here, as in Chainer
from compatgrad.chainer.functions import _native

sign = _native.constant("sign", "-1, 0 or 1, the sign of `x`", "[-1.5, 1.5]", "[-1.,  1.]")
