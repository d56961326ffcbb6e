"""Rounding down."""

from compatgrad.chainer import backend, utils  # noqa: F401  programs find them here, as in Chainer
from compatgrad.chainer.functions import _native

floor = _native.constant(
    "floor", "The largest integer not above `x`",
    example=("np.array([-1.5, 1.5])", "array([-2.,  1.])"), module=__name__,
)  # fmt: skip
