"""Joining along the third axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer.functions import _bound
from compatgrad.chainer.functions.array import vstack as _vstack
from compatgrad.chainer.utils import type_check  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.variable import Variable


class Dstack(_vstack._NumberedInputs):
    documented = "dstack"

    def _equal_axes(self, ndim: int) -> Iterable[int]:
        return (d for d in range(ndim) if ndim < 3 or d != 2)

    def _run_bound(self, inputs):
        ndim = inputs[0].ndim
        if ndim < 3:
            shape = inputs[0].shape + (1,) if ndim == 2 else (1, inputs[0].size, 1)
            inputs = [_bound.reshape(x, shape) for x in inputs]
        return _vstack.concat._apply_as(self, list(inputs), 2)


def dstack(xs: VariablesOrArrays) -> Variable:
    """Variables or arrays, joined along the third axis.

    Args:
        xs: at least one, all of one dtype and number of axes, and of one shape but for the third axis.

    Returns:
        Variable of the dtype of `xs`, at least 3 axes: matrices get a third axis first, vectors a first and a third
        one.

    Raises:
        chainer.utils.type_check.InvalidType: `xs` is empty, or dtypes or shapes do not fit.

    Example:
        >>> F.dstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).array
        array([[[1., 3.],
                [2., 4.]]])

    Source: `chainer.functions.dstack` of Chainer 7.8.1.
    """
    return Dstack().apply(tuple(xs) if isinstance(xs, _C.Variable) else xs)[0]
