"""Products of vectors, matrices and tensors for `mx.np`."""

from __future__ import annotations

import builtins
import math
import string
from collections.abc import Callable, Sequence
from typing import Any

from ..base import MXNetError
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray
from ._arguments import _axis
from ._array import finish, ndarray, pair, promoted
from ._docs import documented
from ._functions import _array

__all__ = ["dot", "einsum", "inner", "matmul", "outer", "tensordot", "vdot"]


@documented
def matmul(a: ndarray, b: ndarray, out: ndarray | None = None) -> ndarray:
    """The product of matrices; axes before the last two are a batch, which broadcasts.

    Args:
        a: ndarray; a vector is a row.
        b: ndarray; a vector is a column. The axis of a vector is left out of the result.

    Returns:
        ndarray of the wider dtype of both.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: an argument has no axis, shapes do not fit, or `out` has another one than the result.

    Example:
        >>> mx.np.matmul(mx.np.array([[1, 2], [3, 4]]), mx.np.array([1, 1]))
        array([3., 7.])
    """
    for n, v in (("a", a), ("b", b)):
        if not hasattr(v, "settled") and not _array("matmul", v, n).ndim:
            raise MXNetError(f"matmul: {n} must have at least one dimension")
    return finish(_product("matmul", op.matmul, a, b), out)


def _product(who: str, body: Callable[..., Any], a: NDArray, b: NDArray) -> Any:
    if hasattr(b, "settled"):  # a parameter of unknown shape, which this product sets
        b = b.settled((a.shape[-1], *b.param.shape[1:]))
    x, y = promoted(who, a, b)
    try:
        return body(ndarray._around(x), y)
    except (RuntimeError, ValueError) as e:
        raise MXNetError(f"{who}: shapes {a.shape} and {b.shape} do not fit: {e}") from None


def _dot(a: ndarray, b: ndarray) -> Any:
    if not a.ndim or not b.ndim:
        return op.mul(a, b)
    if b.ndim == 1 or (a.ndim <= 2 and b.ndim == 2):
        return op.matmul(a, b)
    for n, v in (("a", a), ("b", b)):
        _array("inner", v, n)
    return tensordot(a, b, ([a.ndim - 1], [b.ndim - 2]))


@documented
def dot(a: ndarray, b: ndarray, out: ndarray | None = None) -> ndarray:
    """The product of vectors or matrices: sums over the last axis of `a` and the last but one, or only, axis of `b`.

    Args:
        b: ndarray; where one of both has no axis, their product.

    Returns:
        ndarray of the wider dtype of both.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: shapes do not fit, or `out` has another one than the result.

    Example:
        >>> mx.np.dot(mx.np.array([1, 2]), mx.np.array([3, 4]))
        array(11.)
    """
    for n, v in (("a", a), ("b", b)):
        _array("dot", v, n)
    return finish(_product("dot", _dot, a, b), out)


@documented
def tensordot(a: ndarray, b: ndarray, axes: int | Sequence[int | Sequence[int]] = 2) -> ndarray:
    """Sums of products over pairs of axes.

    Args:
        b: ndarray.
        axes: how many of the last axes of `a` and of the first ones of `b`; or an axis, or a sequence, of each.

    Returns:
        ndarray of the wider dtype of both; its axes are the other ones of `a`, then those of `b`.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: an axis is out of bounds, or the lengths of a pair differ.

    Example:
        >>> mx.np.tensordot(mx.np.ones((2, 3)), mx.np.ones((3, 4)), axes=1).shape
        (2, 4)
    """
    for n, v in (("a", a), ("b", b)):
        _array("tensordot", v, n)
    x, y = promoted("tensordot", a, b)
    x = ndarray._around(x)
    if isinstance(axes, int):
        left, right = list(range(-axes, 0)), list(range(axes))
    else:
        left, right = ([v] if isinstance(v, int) else list(v) for v in axes)
    left, right = [_axis("tensordot", i, x.ndim) for i in left], [_axis("tensordot", i, y.ndim) for i in right]
    if [x.shape[i] for i in left] != [y.shape[i] for i in right]:
        raise MXNetError(f"tensordot: shapes {x.shape} and {y.shape} do not fit along the axes {left} and {right}")
    free_x = [i for i in range(x.ndim) if i not in left]
    free_y = [i for i in range(y.ndim) if i not in right]
    n = math.prod(x.shape[i] for i in left)
    shape = tuple(x.shape[i] for i in free_x) + tuple(y.shape[i] for i in free_y)
    x = op.reshape(op.transpose(x, axes=tuple(free_x + left)), shape=(math.prod(x.shape[i] for i in free_x), n))
    y = op.reshape(op.transpose(y, axes=tuple(right + free_y)), shape=(n, math.prod(y.shape[i] for i in free_y)))
    return op.reshape(op.matmul(x, y), shape=shape)


def _spelled_out(equation: str, ndims: list[int]) -> str:
    """An equation of einsum with "..." replaced by letters."""
    free = [c for c in string.ascii_letters if c not in equation]
    left, _, right = equation.partition("->")
    terms = left.split(",")
    counts = [n - len(t.replace("...", "")) if "..." in t else 0 for t, n in zip(terms, ndims, strict=True)]
    most = builtins.max(counts)
    terms = [t.replace("...", "".join(free[most - k : most])) for t, k in zip(terms, counts, strict=True)]
    return ",".join(terms) + "->" + right.replace("...", "".join(free[:most]))


@documented
def einsum(subscripts: str, *operands: ndarray, out: ndarray | None = None, optimize: bool = False) -> ndarray:
    """Einstein's summation: sums of products over axes that are named by letters.

    Args:
        subscripts: the letters of the axes of each operand, then "->" and those of the result, as in "ij,jk->ik"; "..."
            is any number of axes. Without "->", the sums are over letters that occur twice.
        *operands: ndarrays.
        optimize: without effect.

    Returns:
        ndarray of the widest dtype of the operands.

    Raises:
        AssertionError: an operand is no array.
        mxnet.base.MXNetError: `subscripts` does not fit the operands, or `out` has another shape than the result.

    Example:
        >>> x = mx.np.array([[1, 2], [3, 4]])
        >>> mx.np.einsum("ij,kj->ik", x, x)
        array([[ 5., 11.],
               [11., 25.]])
    """
    for i, v in enumerate(operands):
        _array("einsum", v, f"operands[{i}]")
    equation = subscripts.replace(" ", "")
    if "->" not in equation:
        letters = equation.replace(",", "").replace("...", "")
        once = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
        equation += "->" + ("..." if "..." in equation else "") + once
    xs = [ndarray._around(x) for x in promoted("einsum", *operands)]
    if "..." in equation:
        equation = _spelled_out(equation, [x.ndim for x in xs])
    try:
        return finish(op.einsum(xs, equation=equation), out)
    except (RuntimeError, ValueError) as e:
        raise MXNetError(f"einsum: {subscripts} with shapes {[x.shape for x in xs]}: {e}") from None


@documented
def inner(a: ndarray, b: ndarray) -> ndarray:
    """Sums of products over the last axes.

    Args:
        b: ndarray; where one of both has no axis, their product.

    Returns:
        ndarray of the wider dtype of both; its axes are the other ones of `a`, then those of `b`.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: the last axes differ in length.

    Example:
        >>> mx.np.inner(mx.np.array([1, 2]), mx.np.array([3, 4]))
        array(11.)
    """
    for n, v in (("a", a), ("b", b)):
        _array("inner", v, n)
    return tensordot(a, b, ([a.ndim - 1], [b.ndim - 1])) if a.ndim and b.ndim else pair("mul", a, b)


@documented
def outer(a: ndarray, b: ndarray) -> ndarray:
    """All products of an element of one array and one of another.

    Args:
        b: ndarray.

    Returns:
        ndarray of the wider dtype of both, shape (a.size, b.size).

    Raises:
        AssertionError: an argument is no array.

    Example:
        >>> mx.np.outer(mx.np.array([1, 2]), mx.np.array([3, 4]))
        array([[3., 4.],
               [6., 8.]])
    """
    return pair(
        "mul", op.reshape(_array("outer", a), shape=(-1, 1)), op.reshape(_array("outer", b, "b"), shape=(1, -1))
    )


@documented
def vdot(a: ndarray, b: ndarray) -> ndarray:
    """The inner product of two flat arrays.

    Args:
        b: ndarray of as many elements.

    Returns:
        ndarray of the wider dtype of both, without axes.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: the numbers of elements differ.

    Example:
        >>> mx.np.vdot(mx.np.ones((2, 2)), mx.np.ones((2, 2)))
        array(4.)
    """
    return dot(op.reshape(_array("vdot", a), shape=(-1,)), op.reshape(_array("vdot", b, "b"), shape=(-1,)))
