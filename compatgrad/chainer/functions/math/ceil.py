"""Rounding up."""

from compatgrad.chainer import backend, utils  # noqa: F401  programs find them here, as in Chainer
from compatgrad.chainer.functions import _native

ceil = _native.constant("ceil", "The smallest integer not below `x`", "[-1.5, 1.5]", "[-1.,  2.]")
