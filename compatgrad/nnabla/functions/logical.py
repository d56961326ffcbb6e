"""Comparisons and logic: 1 is true, 0 false, in float32; any number but 0 counts as true. No gradient passes.

Functions of two tensors broadcast by nnabla's rule (equal ndim, lengths equal or 1; RuntimeError otherwise).
In a backward pass their inputs get zeros, where nnabla raises.
"""

from __future__ import annotations

from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_broadcast

__all__ = [
    "equal",
    "equal_scalar",
    "greater",
    "greater_equal",
    "greater_equal_scalar",
    "greater_scalar",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "less_equal_scalar",
    "less_scalar",
    "logical_and",
    "logical_and_scalar",
    "logical_not",
    "logical_or",
    "logical_or_scalar",
    "logical_xor",
    "logical_xor_scalar",
    "not_equal",
    "not_equal_scalar",
    "where",
]


@function("Equal", "x0, x1", primitive=True)
def equal(x0: Any, x1: Any) -> Any:
    """1 where x0 == x1."""
    check_broadcast("equal", x0, x1)
    return op.equal(x0, x1)


@function("NotEqual", "x0, x1", primitive=True)
def not_equal(x0: Any, x1: Any) -> Any:
    """1 where x0 != x1."""
    check_broadcast("not_equal", x0, x1)
    return op.not_equal(x0, x1)


@function("GreaterEqual", "x0, x1", primitive=True)
def greater_equal(x0: Any, x1: Any) -> Any:
    """1 where x0 >= x1."""
    check_broadcast("greater_equal", x0, x1)
    return op.greater_equal(x0, x1)


@function("Greater", "x0, x1", primitive=True)
def greater(x0: Any, x1: Any) -> Any:
    """1 where x0 > x1."""
    check_broadcast("greater", x0, x1)
    return op.greater(x0, x1)


@function("LessEqual", "x0, x1", primitive=True)
def less_equal(x0: Any, x1: Any) -> Any:
    """1 where x0 <= x1."""
    check_broadcast("less_equal", x0, x1)
    return op.less_equal(x0, x1)


@function("Less", "x0, x1", primitive=True)
def less(x0: Any, x1: Any) -> Any:
    """1 where x0 < x1."""
    check_broadcast("less", x0, x1)
    return op.less(x0, x1)


@function("LogicalAnd", "x0, x1", primitive=True)
def logical_and(x0: Any, x1: Any) -> Any:
    """1 where both are true."""
    check_broadcast("logical_and", x0, x1)
    return op.logical_and(x0, x1)


@function("LogicalOr", "x0, x1", primitive=True)
def logical_or(x0: Any, x1: Any) -> Any:
    """1 where one or both are true."""
    check_broadcast("logical_or", x0, x1)
    return op.logical_or(x0, x1)


@function("LogicalXor", "x0, x1", primitive=True)
def logical_xor(x0: Any, x1: Any) -> Any:
    """1 where exactly one is true."""
    check_broadcast("logical_xor", x0, x1)
    return op.logical_xor(x0, x1)


@function("LogicalNot", "x0", primitive=True)
def logical_not(x0: Any) -> Any:
    """1 where x0 is 0."""
    return op.logical_not(x0)


@function("LogicalAndScalar", "x0", primitive=True)
def logical_and_scalar(x0: Any, val: bool) -> Any:
    """1 where x0 is true and val is."""
    return op.logical_and_scalar(x0, value=bool(val))


@function("LogicalOrScalar", "x0", primitive=True)
def logical_or_scalar(x0: Any, val: bool) -> Any:
    """1 where x0 is true or val is."""
    return op.logical_or_scalar(x0, value=bool(val))


@function("LogicalXorScalar", "x0", primitive=True)
def logical_xor_scalar(x0: Any, val: bool) -> Any:
    """1 where x0 is true and val is not, or the reverse."""
    return op.logical_xor_scalar(x0, value=bool(val))


@function("EqualScalar", "x0", primitive=True)
def equal_scalar(x0: Any, val: float = 1) -> Any:
    """1 where x0 == val."""
    return op.equal_scalar(x0, value=float(val))


@function("NotEqualScalar", "x0", primitive=True)
def not_equal_scalar(x0: Any, val: float = 1) -> Any:
    """1 where x0 != val."""
    return op.not_equal_scalar(x0, value=float(val))


@function("GreaterEqualScalar", "x0", primitive=True)
def greater_equal_scalar(x0: Any, val: float = 1) -> Any:
    """1 where x0 >= val."""
    return op.greater_equal_scalar(x0, value=float(val))


@function("GreaterScalar", "x0", primitive=True)
def greater_scalar(x0: Any, val: float = 1) -> Any:
    """1 where x0 > val."""
    return op.greater_scalar(x0, value=float(val))


@function("LessEqualScalar", "x0", primitive=True)
def less_equal_scalar(x0: Any, val: float = 1) -> Any:
    """1 where x0 <= val."""
    return op.less_equal_scalar(x0, value=float(val))


@function("LessScalar", "x0", primitive=True)
def less_scalar(x0: Any, val: float = 1) -> Any:
    """1 where x0 < val."""
    return op.less_scalar(x0, value=float(val))


@function("IsNaN", "x0", primitive=True)
def isnan(x0: Any) -> Any:
    """1 where x0 is NaN."""
    return op.isnan(x0)


@function("IsInf", "x0", primitive=True)
def isinf(x0: Any) -> Any:
    """1 where x0 is infinite."""
    return op.isinf(x0)


@function("Where", "condition, x_true, x_false", primitive=True)
def where(condition: Any, x_true: Any, x_false: Any) -> Any:
    """x_true where the condition is not 0, else x_false.

    x_true, x_false: one shape; condition: that shape or its leading part, each element then deciding for all
    that is below it. RuntimeError for other shapes. The condition gets no gradient.
    """
    c, a, b = condition.shape, x_true.shape, x_false.shape
    if tuple(a) != tuple(b):
        raise RuntimeError(f"where: x_true and x_false must have the same dimensions, not {tuple(a)} and {tuple(b)}.")
    if tuple(c) != tuple(a[: len(c)]):
        raise RuntimeError(
            f"where: the first dimensions of x_true and x_false, {tuple(a)}, must be the "
            f"shape of the condition, {tuple(c)}."
        )
    if len(c) < len(a):
        condition = op.reshape(condition, shape=(*c, *(1,) * (len(a) - len(c))))
    return op.where(condition, x_true, x_false)
