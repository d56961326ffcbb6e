"""Rounding down."""

from compatgrad.chainer import backend, utils  # noqa: F401  programs find them here, as in Chainer
from compatgrad.chainer.functions import _native

floor = _native.constant("floor", "The largest integer not above `x`", "[-1.5, 1.5]", "[-2.,  1.]")
