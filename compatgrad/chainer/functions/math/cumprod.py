"""Cumulative products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._documented import _sharing
from compatgrad.chainer.functions.math import _reduction

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Cumprod(_reduction.Scan):
    op = "cumprod"


@_sharing(_reduction.ALONG_AXIS)
def cumprod(x: VariableOrArray, axis: int | None = None) -> Variable:
    """Cumulative products along an axis.

    Example:
        >>> F.cumprod(np.array([2.0, 3.0, 4.0])).array
        array([ 2.,  6., 24.])

    Source: `chainer.functions.cumprod` of Chainer 7.8.1.
    """
    return Cumprod(axis).apply((x,))[0]
