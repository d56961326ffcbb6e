"""Joining along the second axis."""

from compatgrad import _C
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array import vstack as _vstack
from compatgrad.chainer.utils import type_check


class Hstack(_native.NativeListFunction):
    op = None

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        ndim = type_check.eval(in_types[0].ndim)
        for i, t in enumerate(in_types):
            type_check._argname((t,), (f"x{i}",))
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].ndim == t.ndim)
            for d in range(ndim if ndim > 1 else 0):
                if d != 1:
                    type_check.expect(in_types[0].shape[d] == t.shape[d])

    def _run_bound(self, inputs):
        if inputs[0].ndim == 0:
            inputs = [_vstack.reshaped(x, (1,)) for x in inputs]
        return _vstack.concat._apply_as(self, list(inputs), 1 if inputs[0].ndim > 1 else 0)


def hstack(xs):
    """The Variables or arrays `xs`, joined along axis 1; vectors and numbers, along their only axis."""
    return Hstack().apply(tuple(xs) if isinstance(xs, _C.Variable) else xs)[0]
