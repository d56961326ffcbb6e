"""Rounding towards zero."""

from compatgrad.chainer import backend, utils  # noqa: F401  programs find them here, as in Chainer
from compatgrad.chainer.functions import _native

fix = _native.constant(
    "fix", "`x` rounded towards zero",
    example=("np.array([-1.5, 1.5])", "array([-1.,  1.])"), module=__name__,
)  # fmt: skip
