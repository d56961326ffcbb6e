"""Cumulative products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.math import _reduction

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Cumprod(_reduction.Scan):
    op = "cumprod"


def cumprod(x: VariableOrArray, axis: int | None = None) -> Variable:
    """Cumulative products along an axis.

    Args:
        x: floating, any shape.
        axis: may be negative; None: of the flattened `x`, a vector.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `axis` is of another kind.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.

    Example:
        >>> F.cumprod(np.array([2.0, 3.0, 4.0])).array
        array([ 2.,  6., 24.])

    Source: `chainer.functions.cumprod` of Chainer 7.8.1.
    """
    return Cumprod(axis).apply((x,))[0]
