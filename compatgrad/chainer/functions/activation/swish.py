"""Swish."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.activation.prelu import expect_parameter
from compatgrad.chainer.utils import type_check


class Swish(_native.NativeFunction):
    op = "swish"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "beta"))
        expect_parameter(*in_types)


def _checked(x, beta):
    return Swish().apply((x, beta))[0]


_swish = frontend.bind("swish", _checked)


def swish(x, beta):
    """`x * sigmoid(beta * x)` (Ramachandran et al. 2017); `beta`: the shape of `x` after the batch's axis."""
    shape = beta.shape
    return (_swish if x.shape[1 : 1 + len(shape)] == shape else _checked)(x, beta)
