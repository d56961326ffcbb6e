"""Rounding towards zero."""

from compatgrad.chainer import backend, utils
from compatgrad.chainer.variable import as_array, as_variable


def fix(x):
    """`x` rounded towards zero, element-wise; a constant, as in Chainer: no graph leads to `x`."""
    x = as_array(x)
    return as_variable(utils.force_array(backend.get_array_module(x).fix(x), x.dtype))
