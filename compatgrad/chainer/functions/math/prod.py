"""Products."""

from compatgrad.chainer.functions.math._reduction import Reduction


class Prod(Reduction):
    op = "prod"


def prod(x, axis=None, keepdims=False):
    """Product of `x` over `axis` (None: all; an int or a tuple); `keepdims` keeps the axes with length 1."""
    return Prod(axis, keepdims).apply((x,))[0]
