"""Comparisons and logical functions. Results are float32, 1 for true and 0 for false; any number but 0 counts as true.
No gradient passes.

Functions of two arrays broadcast by nnabla's rule (equal ndim, lengths equal or 1; RuntimeError otherwise). In a
backward pass their inputs get zeros; nnabla raises an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_broadcast
from compatgrad.nnabla.functions._sections import COMPARED, COMPARED_WITH_NUMBER, LOGICAL, LOGICAL_WITH_NUMBER, TESTED

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

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


@function("Equal", "x0, x1", primitive=True, shared=(COMPARED,))
def equal(x0: Array, x1: Array) -> Array:
    """1 where x0 == x1, else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.equal(array(np.array([1.0, 2.0])), array(np.array([1.0, 3.0]))).data
        array([1., 0.], dtype=float32)
    """
    check_broadcast("equal", x0, x1)
    return op.equal(x0, x1)


@function("NotEqual", "x0, x1", primitive=True, shared=(COMPARED,))
def not_equal(x0: Array, x1: Array) -> Array:
    """1 where x0 != x1, else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.not_equal(array(np.array([1.0, 2.0])), array(np.array([1.0, 3.0]))).data
        array([0., 1.], dtype=float32)
    """
    check_broadcast("not_equal", x0, x1)
    return op.not_equal(x0, x1)


@function("GreaterEqual", "x0, x1", primitive=True, shared=(COMPARED,))
def greater_equal(x0: Array, x1: Array) -> Array:
    """1 where x0 >= x1, else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.greater_equal(array(np.array([1.0, 2.0, 3.0])), array(np.array([2.0, 2.0, 2.0]))).data
        array([0., 1., 1.], dtype=float32)
    """
    check_broadcast("greater_equal", x0, x1)
    return op.greater_equal(x0, x1)


@function("Greater", "x0, x1", primitive=True, shared=(COMPARED,))
def greater(x0: Array, x1: Array) -> Array:
    """1 where x0 > x1, else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.greater(array(np.array([1.0, 2.0, 3.0])), array(np.array([2.0, 2.0, 2.0]))).data
        array([0., 0., 1.], dtype=float32)
    """
    check_broadcast("greater", x0, x1)
    return op.greater(x0, x1)


@function("LessEqual", "x0, x1", primitive=True, shared=(COMPARED,))
def less_equal(x0: Array, x1: Array) -> Array:
    """1 where x0 <= x1, else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.less_equal(array(np.array([1.0, 2.0, 3.0])), array(np.array([2.0, 2.0, 2.0]))).data
        array([1., 1., 0.], dtype=float32)
    """
    check_broadcast("less_equal", x0, x1)
    return op.less_equal(x0, x1)


@function("Less", "x0, x1", primitive=True, shared=(COMPARED,))
def less(x0: Array, x1: Array) -> Array:
    """1 where x0 < x1, else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.less(array(np.array([1.0, 2.0, 3.0])), array(np.array([2.0, 2.0, 2.0]))).data
        array([1., 0., 0.], dtype=float32)
    """
    check_broadcast("less", x0, x1)
    return op.less(x0, x1)


@function("LogicalAnd", "x0, x1", primitive=True, shared=(LOGICAL,))
def logical_and(x0: Array, x1: Array) -> Array:
    """1 where both are true (not 0), else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.logical_and(array(np.array([0.0, 1.0, 2.0])), array(np.array([1.0, 0.0, 5.0]))).data
        array([0., 0., 1.], dtype=float32)
    """
    check_broadcast("logical_and", x0, x1)
    return op.logical_and(x0, x1)


@function("LogicalOr", "x0, x1", primitive=True, shared=(LOGICAL,))
def logical_or(x0: Array, x1: Array) -> Array:
    """1 where one or both are true (not 0), else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.logical_or(array(np.array([0.0, 0.0, 2.0])), array(np.array([0.0, 1.0, 5.0]))).data
        array([0., 1., 1.], dtype=float32)
    """
    check_broadcast("logical_or", x0, x1)
    return op.logical_or(x0, x1)


@function("LogicalXor", "x0, x1", primitive=True, shared=(LOGICAL,))
def logical_xor(x0: Array, x1: Array) -> Array:
    """1 where exactly one is true (not 0), else 0. No gradient passes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.logical_xor(array(np.array([0.0, 1.0, 2.0])), array(np.array([1.0, 0.0, 5.0]))).data
        array([1., 1., 0.], dtype=float32)
    """
    check_broadcast("logical_xor", x0, x1)
    return op.logical_xor(x0, x1)


@function("LogicalNot", "x0", primitive=True, shared=(TESTED,))
def logical_not(x0: Array) -> Array:
    """1 where x0 is 0, else 0. No gradient passes.

    Example:
        >>> F.logical_not(nn.NdArray.from_numpy_array(np.array([0.0, 1.0, 2.0]))).data
        array([1., 0., 0.], dtype=float32)
    """
    return op.logical_not(x0)


@function("LogicalAndScalar", "x0", primitive=True, shared=(LOGICAL_WITH_NUMBER,))
def logical_and_scalar(x0: Array, val: bool) -> Array:
    """1 where both x0 and val are true, else 0. No gradient passes.

    Example:
        >>> F.logical_and_scalar(nn.NdArray.from_numpy_array(np.array([0.0, 2.0])), True).data
        array([0., 1.], dtype=float32)
    """
    return op.logical_and_scalar(x0, value=bool(val))


@function("LogicalOrScalar", "x0", primitive=True, shared=(LOGICAL_WITH_NUMBER,))
def logical_or_scalar(x0: Array, val: bool) -> Array:
    """1 where x0 or val is true, else 0. No gradient passes.

    Example:
        >>> F.logical_or_scalar(nn.NdArray.from_numpy_array(np.array([0.0, 2.0])), False).data
        array([0., 1.], dtype=float32)
    """
    return op.logical_or_scalar(x0, value=bool(val))


@function("LogicalXorScalar", "x0", primitive=True, shared=(LOGICAL_WITH_NUMBER,))
def logical_xor_scalar(x0: Array, val: bool) -> Array:
    """1 where exactly one of x0 and val is true, else 0. No gradient passes.

    Example:
        >>> F.logical_xor_scalar(nn.NdArray.from_numpy_array(np.array([0.0, 2.0])), True).data
        array([1., 0.], dtype=float32)
    """
    return op.logical_xor_scalar(x0, value=bool(val))


@function("EqualScalar", "x0", primitive=True, shared=(COMPARED_WITH_NUMBER,))
def equal_scalar(x0: Array, val: float = 1) -> Array:
    """1 where x0 == val, else 0. No gradient passes.

    Example:
        >>> F.equal_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0])), 2).data
        array([0., 1., 0.], dtype=float32)
    """
    return op.equal_scalar(x0, value=float(val))


@function("NotEqualScalar", "x0", primitive=True, shared=(COMPARED_WITH_NUMBER,))
def not_equal_scalar(x0: Array, val: float = 1) -> Array:
    """1 where x0 != val, else 0. No gradient passes.

    Example:
        >>> F.not_equal_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0])), 2).data
        array([1., 0., 1.], dtype=float32)
    """
    return op.not_equal_scalar(x0, value=float(val))


@function("GreaterEqualScalar", "x0", primitive=True, shared=(COMPARED_WITH_NUMBER,))
def greater_equal_scalar(x0: Array, val: float = 1) -> Array:
    """1 where x0 >= val, else 0. No gradient passes.

    Example:
        >>> F.greater_equal_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0])), 2).data
        array([0., 1., 1.], dtype=float32)
    """
    return op.greater_equal_scalar(x0, value=float(val))


@function("GreaterScalar", "x0", primitive=True, shared=(COMPARED_WITH_NUMBER,))
def greater_scalar(x0: Array, val: float = 1) -> Array:
    """1 where x0 > val, else 0. No gradient passes.

    Example:
        >>> F.greater_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0])), 2).data
        array([0., 0., 1.], dtype=float32)
    """
    return op.greater_scalar(x0, value=float(val))


@function("LessEqualScalar", "x0", primitive=True, shared=(COMPARED_WITH_NUMBER,))
def less_equal_scalar(x0: Array, val: float = 1) -> Array:
    """1 where x0 <= val, else 0. No gradient passes.

    Example:
        >>> F.less_equal_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0])), 2).data
        array([1., 1., 0.], dtype=float32)
    """
    return op.less_equal_scalar(x0, value=float(val))


@function("LessScalar", "x0", primitive=True, shared=(COMPARED_WITH_NUMBER,))
def less_scalar(x0: Array, val: float = 1) -> Array:
    """1 where x0 < val, else 0. No gradient passes.

    Example:
        >>> F.less_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0])), 2).data
        array([1., 0., 0.], dtype=float32)
    """
    return op.less_scalar(x0, value=float(val))


@function("IsNaN", "x0", primitive=True, shared=(TESTED,))
def isnan(x0: Array) -> Array:
    """1 where x0 is NaN, else 0. No gradient passes.

    Example:
        >>> F.isnan(nn.NdArray.from_numpy_array(np.array([1.0, np.nan, np.inf]))).data
        array([0., 1., 0.], dtype=float32)
    """
    return op.isnan(x0)


@function("IsInf", "x0", primitive=True, shared=(TESTED,))
def isinf(x0: Array) -> Array:
    """1 where x0 is infinite, else 0. No gradient passes.

    Example:
        >>> F.isinf(nn.NdArray.from_numpy_array(np.array([1.0, np.nan, -np.inf]))).data
        array([0., 0., 1.], dtype=float32)
    """
    return op.isinf(x0)


@function("Where", "condition, x_true, x_false", primitive=True)
def where(condition: Array, x_true: Array, x_false: Array) -> Array:
    """x_true where the condition is not 0, else x_false. The condition gets no gradient.

    Args:
        condition: of the shape of `x_true`, or of its first lengths; an element then selects a whole slice.
        x_true: any shape: the values where the condition is not 0.
        x_false: of the shape of `x_true`: the values elsewhere.

    Returns:
        Array of the shape of `x_true`.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> condition, x = array(np.array([1.0, 0.0])), array(np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> F.where(condition, x, -x).data
        array([[ 1.,  2.],
               [-3., -4.]], dtype=float32)
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
