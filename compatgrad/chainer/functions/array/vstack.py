"""Joining along the first axis."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

reshaped = frontend.bind("reshape", dtype="any")
concat = frontend.bind("concat", dtype="same")
stack = frontend.bind("stack", dtype="same")


class Vstack(_native.NativeListFunction):
    op = None

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        ndim = type_check.eval(in_types[0].ndim)
        for t in in_types[1:]:
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].ndim == t.ndim)
            for d in range(1 if ndim > 1 else 0, ndim):
                type_check.expect(in_types[0].shape[d] == t.shape[d])

    def _run_bound(self, inputs):
        if inputs[0].ndim == 0:
            inputs = [reshaped(x, (1,)) for x in inputs]
        return (stack if inputs[0].ndim == 1 else concat)._apply_as(self, list(inputs), 0)


def vstack(xs):
    """The Variables or arrays `xs`, joined along axis 0; vectors and numbers become rows first."""
    return Vstack().apply(tuple(xs))[0]
