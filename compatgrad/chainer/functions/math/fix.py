"""Rounding towards zero."""

from compatgrad.chainer import backend, utils  # noqa: F401  programs find them here, as in Chainer
from compatgrad.chainer.functions import _native

fix = _native.constant("fix", "`x` rounded towards zero", "[-1.5, 1.5]", "[-1.,  1.]")
