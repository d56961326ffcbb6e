"""Polygamma functions."""

import math

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

_broadcast_to = frontend.bind("broadcast_to", dtype="any")
_digamma = frontend.bind("digamma", dtype="any")
_mul = frontend.bind("mul", dtype="any")
_polygamma = frontend.bind("polygamma", dtype="any")
_where = frontend.bind("where", dtype="any")
_zeta = frontend.bind("zeta", dtype="any")


class PolyGamma(_native.NativeFunction):
    op = None
    label = "polygamma"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("n", "x"))
        type_check.expect(in_types[0].dtype.kind == "i", in_types[1].dtype.kind == "f")

    def _run_bound(self, inputs):
        n, x = as_array(inputs[0]), inputs[1]
        orders = numpy.unique(n).tolist()
        if len(orders) == 1:
            x = _broadcast_to(x, numpy.broadcast_shapes(n.shape, x.shape))
            return _polygamma._apply_as(self, x, orders[0])
        # (-1)^(n + 1) n! zeta(n + 1, x) for n > 0
        xp = backend.get_array_module(n)
        factors = numpy.array([(-1.0) ** (i + 1) * math.factorial(i) for i in range(max(orders) + 1)])
        orders = xp.asarray(n + 1, dtype=x.dtype)
        higher = _mul(xp.asarray(factors[n], dtype=x.dtype), _zeta(xp.where(n == 0, 2, orders), x))
        return _where._apply_as(self, n == 0, _digamma(x), higher)


def polygamma(n, x):
    """The `n`-th derivative of `digamma` at `x`; `n` is an array of ints. Differentiable by `x`."""
    return PolyGamma().apply((n, x))[0]
