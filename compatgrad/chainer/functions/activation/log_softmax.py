"""Logarithm of softmax."""

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class LogSoftmax(_native.NativeFunction):
    op = "log_softmax"

    def __init__(self, axis=1):
        super().__init__(axis=axis)

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))
        type_check.expect(-in_types[0].ndim <= self.axis, self.axis < in_types[0].ndim)


log_softmax = frontend.bind(
    "log_softmax", lambda x, axis=1: LogSoftmax(axis).apply((x,))[0], module=__name__,
    doc="log(softmax(x)) along `axis`, without the overflow of the two in turn.",
)  # fmt: skip


def logsumexp(x, axis):
    """log(sum(exp(x))) of an array along `axis`, which stays, of length 1: programs take it for losses of their own."""
    xp = backend.get_array_module(x)
    largest = x.max(axis=axis, keepdims=True)
    return largest + xp.log(xp.exp(x - largest).sum(axis=axis, keepdims=True))


def _log_softmax(x, axis=1):
    """`log_softmax` of an array, as an array."""
    return x - logsumexp(x, axis)
