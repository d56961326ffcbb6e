"""Joining along the second axis."""

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


class Hstack(_vstack._NumberedInputs):
    documented = "hstack"

    def _equal_axes(self, ndim: int) -> Iterable[int]:
        return (d for d in range(ndim) if d != 1) if ndim > 1 else ()

    def _run_bound(self, inputs):
        if inputs[0].ndim == 0:
            inputs = [_bound.reshape(x, (1,)) for x in inputs]
        return _vstack.concat._apply_as(self, list(inputs), 1 if inputs[0].ndim > 1 else 0)


def hstack(xs: VariablesOrArrays) -> Variable:
    """Variables or arrays, joined along the second axis, or along the only one.

    Args:
        xs: at least one, all of one dtype and number of axes, and of one shape but for that axis.

    Returns:
        Variable of the dtype of `xs`, at least 1 axis.

    Raises:
        chainer.utils.type_check.InvalidType: `xs` is empty, or dtypes or shapes do not fit.

    Example:
        >>> F.hstack([np.array([1.0, 2.0]), np.array([3.0])]).array
        array([1., 2., 3.])

    Source: `chainer.functions.hstack` of Chainer 7.8.1.
    """
    return Hstack().apply(tuple(xs) if isinstance(xs, _C.Variable) else xs)[0]
