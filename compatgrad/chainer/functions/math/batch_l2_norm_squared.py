"""Squared norms of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_sum = _bound.sum  # Chainer has this name here too, and programs import it


class BatchL2NormSquared(_native.NativeFunction):
    documented = "batch_l2_norm_squared"

    @type_check._expects
    def check_type_forward(self, x):
        return x.dtype.kind == "f", x.ndim >= 2

    def _run_bound(self, inputs):
        return _bound.sum._apply_as(self, _bound.square(inputs[0]), tuple(range(1, inputs[0].ndim)))


def batch_l2_norm_squared(x: VariableOrArray) -> Variable:
    """The sum of squares of each sample.

    Args:
        x: floating, (n, ...), n samples, at least 2 axes.

    Returns:
        Variable (n,) of the dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has fewer than 2 axes.

    Example:
        >>> F.batch_l2_norm_squared(np.array([[3.0, 4.0], [0.0, 2.0]])).array
        array([25.,  4.])

    Source: `chainer.functions.batch_l2_norm_squared` of Chainer 7.8.1.
    """
    return BatchL2NormSquared().apply((x,))[0]
