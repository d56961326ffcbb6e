"""Hurwitz zeta function."""

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array


class Zeta(_native.NativeFunction):
    op = "zeta"
    label = "zeta"

    def check_type_forward(self, in_types):
        type_check._argname(in_types[-1:], ("q",))
        type_check.expect(in_types[-1].dtype.kind == "f")


def zeta(x, q):
    """The sum of (k + q) ** -x for k = 0, 1, …; `x` is a number or an array. Differentiable by `q`."""
    x = backend.get_array_module(q).asarray(as_array(x), dtype=q.dtype)
    return Zeta().apply((x, q))[0]
