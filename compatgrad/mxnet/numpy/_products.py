"""Products of `mx.np`: of vectors, matrices and tensors."""

from __future__ import annotations

import builtins
import math
import string
from collections.abc import Callable
from typing import Any

from ..base import MXNetError
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray
from ._array import finish, ndarray, pair, promoted
from ._functions import _array

__all__ = ["dot", "einsum", "inner", "matmul", "outer", "tensordot", "vdot"]


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """`numpy.matmul`: matrices, vectors and batches of matrices."""
    for n, v in (("a", a), ("b", b)):
        if not hasattr(v, "settled") and not _array("matmul", v, n).ndim:
            raise MXNetError(f"matmul: {n} must have at least one dimension")
    return finish(_product("matmul", op.matmul, a, b), out)


def _product(who: str, body: Callable[..., Any], a: NDArray, b: NDArray) -> Any:
    if hasattr(b, "settled"):  # a parameter whose shape this product tells
        b = b.settled((a.shape[-1], *b.param.shape[1:]))
    x, y = promoted(who, a, b)
    try:
        return body(ndarray._around(x), y)
    except (RuntimeError, ValueError) as e:
        raise MXNetError(f"{who}: shapes {a.shape} and {b.shape} do not fit: {e}") from None


def _dot(a: Any, b: Any) -> Any:
    if not a.ndim or not b.ndim:
        return op.mul(a, b)
    if b.ndim == 1 or (a.ndim <= 2 and b.ndim == 2):
        return op.matmul(a, b)
    return tensordot(a, b, ([a.ndim - 1], [b.ndim - 2]))


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """`numpy.dot`: of vectors, matrices, or the last axis of `a` with the last but one of `b`."""
    for n, v in (("a", a), ("b", b)):
        _array("dot", v, n)
    return finish(_product("dot", _dot, a, b), out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """`numpy.tensordot`: sums over pairs of axes."""
    for n, v in (("a", a), ("b", b)):
        _array("tensordot", v, n)
    x, y = promoted("tensordot", a, b)
    x = ndarray._around(x)
    if isinstance(axes, int):
        left, right = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        left, right = ([v] if isinstance(v, int) else list(v) for v in axes)
    left, right = [i % x.ndim for i in left], [i % y.ndim for i in right]
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
    """An equation with letters in the place of dots."""
    free = [c for c in string.ascii_letters if c not in equation]
    left, _, right = equation.partition("->")
    terms = left.split(",")
    counts = [n - len(t.replace("...", "")) if "..." in t else 0 for t, n in zip(terms, ndims, strict=True)]
    most = builtins.max(counts)
    terms = [t.replace("...", "".join(free[most - k : most])) for t, k in zip(terms, counts, strict=True)]
    return ",".join(terms) + "->" + right.replace("...", "".join(free[:most]))


def einsum(subscripts: str, *operands: Any, out: Any = None, optimize: bool = False) -> Any:
    """`numpy.einsum`: Einstein's summation; an equation without "->" sums over what occurs twice."""
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


def inner(a: Any, b: Any) -> Any:
    """`numpy.inner`: sums over the last axes."""
    return tensordot(a, b, ([a.ndim - 1], [b.ndim - 1])) if a.ndim and b.ndim else pair("mul", a, b)


def outer(a: Any, b: Any) -> Any:
    """`numpy.outer`: all products of the elements of two flat arrays."""
    return pair(
        "mul", op.reshape(_array("outer", a), shape=(-1, 1)), op.reshape(_array("outer", b, "b"), shape=(1, -1))
    )


def vdot(a: Any, b: Any) -> Any:
    """`numpy.vdot`: the inner product of two flat arrays."""
    return dot(op.reshape(_array("vdot", a), shape=(-1,)), op.reshape(_array("vdot", b, "b"), shape=(-1,)))
