"""Polygamma functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class PolyGamma(_native.NativeFunction):
    documented = "polygamma"
    label = "polygamma"

    @type_check._expects
    def check_type_forward(self, n, x):
        return n.dtype.kind == "i", x.dtype.kind == "f"

    def _run_bound(self, inputs):
        n, x = as_array(inputs[0]), inputs[1]
        orders = numpy.unique(n).tolist()
        if len(orders) == 1:
            x = _bound.broadcast_to(x, numpy.broadcast_shapes(n.shape, x.shape))
            return _bound.polygamma._apply_as(self, x, orders[0])
        # (-1)^(n + 1) n! zeta(n + 1, x) for n > 0
        xp = backend.get_array_module(n)
        factors = numpy.array([(-1.0) ** (i + 1) * math.factorial(i) for i in range(max(orders) + 1)])
        orders = xp.asarray(n + 1, dtype=x.dtype)
        higher = _bound.mul(xp.asarray(factors[n], dtype=x.dtype), _bound.zeta(xp.where(n == 0, 2, orders), x))
        return _bound.where._apply_as(self, n == 0, _bound.digamma(x), higher)


def polygamma(n: VariableOrArray, x: VariableOrArray) -> Variable:
    """The `n`-th derivative of `digamma` at `x`, with broadcasting; it can be differentiated with respect to `x`.

    Args:
        n: int, not negative, any shape.
        x: floating, any shape.

    Returns:
        Variable of the dtype of `x` and the common shape.

    Raises:
        TypeError: one of them is neither a Variable nor an array.
        ValueError: `n` is negative, or shapes cannot be broadcast.
        chainer.utils.type_check.InvalidType: `n` is not of ints, or `x` is not floating-point.

    Example:
        >>> F.polygamma(np.array([0, 1]), np.array([1.0, 1.0])).array
        array([-0.57721566,  1.64493407])

    Source: `chainer.functions.polygamma` of Chainer 7.8.1.
    """
    return PolyGamma().apply((n, x))[0]
