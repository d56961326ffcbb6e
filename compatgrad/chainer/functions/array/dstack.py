"""Joining along the third axis."""

from compatgrad import _C
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array import vstack as _vstack
from compatgrad.chainer.utils import type_check


class Dstack(_native.NativeListFunction):
    op = None

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        ndim = type_check.eval(in_types[0].ndim)
        for i, t in enumerate(in_types):
            type_check._argname((t,), (f"x{i}",))
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].ndim == t.ndim)
            for d in range(ndim):
                if ndim < 3 or d != 2:
                    type_check.expect(in_types[0].shape[d] == t.shape[d])

    def _run_bound(self, inputs):
        ndim = inputs[0].ndim
        if ndim < 3:
            shape = inputs[0].shape + (1,) if ndim == 2 else (1, inputs[0].size, 1)
            inputs = [_vstack.reshaped(x, shape) for x in inputs]
        return _vstack.concat._apply_as(self, list(inputs), 2)


def dstack(xs):
    """The Variables or arrays `xs`, joined along axis 2, which arrays of fewer axes get first."""
    return Dstack().apply(tuple(xs) if isinstance(xs, _C.Variable) else xs)[0]
