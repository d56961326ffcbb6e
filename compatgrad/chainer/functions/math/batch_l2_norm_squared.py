"""Squared norms of samples."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_square = frontend.bind("square", dtype="any")
_sum = frontend.bind("sum", dtype="any")


class BatchL2NormSquared(_native.NativeFunction):
    op = None

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim >= 2)

    def _run_bound(self, inputs):
        return _sum._apply_as(self, _square(inputs[0]), tuple(range(1, inputs[0].ndim)))


def batch_l2_norm_squared(x):
    """The sum of squares of each `x[i]`: a vector. InvalidType where `x` has fewer than two axes."""
    return BatchL2NormSquared().apply((x,))[0]
