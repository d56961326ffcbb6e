"""Cumulative sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._documented import _sharing
from compatgrad.chainer.functions.math import _reduction
from compatgrad.chainer.utils import type_check  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Cumsum(_reduction.Scan):
    op = "cumsum"


@_sharing(_reduction.ALONG_AXIS)
def cumsum(x: VariableOrArray, axis: int | None = None) -> Variable:
    """Cumulative sums along an axis.

    Example:
        >>> F.cumsum(np.array([2.0, 3.0, 4.0])).array
        array([2., 5., 9.])

    Source: `chainer.functions.cumsum` of Chainer 7.8.1.
    """
    return Cumsum(axis).apply((x,))[0]
