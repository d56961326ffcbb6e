"""Logarithm of a sum of exponentials."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.math._reduction import Reduction


class LogSumExp(Reduction):
    op = "logsumexp"

    def __init__(self, axis=None):
        super().__init__(axis)


_logsumexp = frontend.bind("logsumexp", lambda x, axis: LogSumExp(axis).apply((x,))[0])


def logsumexp(x, axis=None):
    """log(sum(exp(x))) over `axis` (None: all; an int or a tuple), without overflow."""
    return _logsumexp(x, axis)
