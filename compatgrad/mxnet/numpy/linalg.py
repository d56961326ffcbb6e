"""`mx.np.linalg`: norms, inverses and factorizations; NumPy computes the other functions, without gradients."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp
import torch

from compatgrad.core import notes

from ..base import MXNetError
from ..ndarray._operator import not_an_array, op
from ..ndarray.ndarray import NDArray
from ._arguments import _axis
from ._array import constant, floats, ndarray
from ._docs import documented
from ._linalg_words import TEXTS
from ._products import dot
from ._shapes import moveaxis

__all__ = [
    "cholesky", "det", "inv", "matrix_power", "multi_dot", "norm", "pinv", "slogdet", "solve", "svd", "tensorinv",
    "tensorsolve",
]  # fmt: skip


def _array(who: str, x: Any, name: str = "a") -> Any:
    if not isinstance(x, NDArray):
        raise not_an_array(who, name, x)
    return floats(ndarray._around(x))


def _square(who: str, x: Any) -> Any:
    x = _array(who, x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise MXNetError(f"{who}: a must hold square matrices, got shape {x.shape}")
    return x


def _inverse(who: str, x: Any) -> Any:
    y = op.inverse(x)
    if not bool(torch.isfinite(y.tensor).all()):
        raise MXNetError(f"{who}: a matrix of a is singular")
    return y


@documented
def norm(
    x: ndarray, ord: float | str | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> ndarray:
    """Norms of vectors or matrices.

    Args:
        ord: of vectors any number, inf or -inf. Of matrices "fro" (the root of the sum of squares), "nuc" (the sum of
            the singular values), 1 and -1 (sums of columns), inf and -inf (sums of rows), 2 and -2 (singular values).
            None is the root of the sum of squares.
        axis: the axis of vectors, or the two axes of matrices; None is all axes.

    Returns:
        ndarray, floating-point: integers become float32.

    Raises:
        AssertionError: `x` is no array.
        ValueError: `ord` is no order for vectors or matrices, or there are more than two axes.
        mxnet.base.MXNetError: an axis is out of bounds.

    Example:
        >>> mx.np.linalg.norm(mx.np.array([3.0, 4.0]))
        array(5.)
        >>> mx.np.linalg.norm(mx.np.array([[1.0, 2.0], [3.0, 4.0]]), ord=1)
        array(6.)
    """
    a = _array("norm", x, "x")
    if ord in ("inf", "-inf"):
        ord = float(ord)
    if axis is None and ord is None:
        axes = tuple(range(a.ndim))
        return op.sqrt(op.sum(op.square(a), axis=axes or None, keepdims=keepdims))
    axes = tuple(range(a.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(_axis("norm", i, a.ndim) for i in axes)
    if len(axes) == 1:
        return _vector_norm(a, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"norm: improper number of dimensions for order {ord}: axis {axis}")
    if ord in (None, "fro"):
        return op.sqrt(op.sum(op.square(a), axis=axes, keepdims=keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        first, last = axes if abs(ord) == 1 else axes[::-1]
        sums = op.sum(op.abs(a), axis=(first,), keepdims=True)
        y = (op.max if ord > 0 else op.min)(sums, axis=(last,), keepdims=True)
        return y if keepdims else op.reshape(y, shape=tuple(n for i, n in enumerate(a.shape) if i not in axes))
    if ord not in (2, -2, "nuc"):
        raise ValueError(f"norm: invalid order {ord!r} for matrices")
    s = _singular(moveaxis(a, axes, (-2, -1)))[1]  # from the largest on
    last = s.ndim - 1
    y = op.sum(s, axis=(last,)) if ord == "nuc" else op.get_item(s, index=(Ellipsis, 0 if ord == 2 else -1))
    return op.reshape(y, shape=tuple(1 if i in axes else n for i, n in enumerate(a.shape))) if keepdims else y


def _vector_norm(a: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord in (None, 2):
        return op.sqrt(op.sum(op.square(a), axis=axes, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError(f"norm: invalid order {ord!r} for vectors")
    if ord == math.inf:
        return op.max(op.abs(a), axis=axes, keepdims=keepdims)
    if ord == -math.inf:
        return op.min(op.abs(a), axis=axes, keepdims=keepdims)
    if ord == 0:
        return op.sum(constant((a.tensor != 0).to(a.tensor.dtype)), axis=axes, keepdims=keepdims)
    if ord == 1:
        return op.sum(op.abs(a), axis=axes, keepdims=keepdims)
    return op.pow_scalar(op.sum(op.pow_scalar(op.abs(a), exponent=ord), axis=axes, keepdims=keepdims), exponent=1 / ord)


@documented
def inv(a: ndarray) -> ndarray:
    """The inverses of square matrices.

    Args:
        a: square matrices in the last two axes, ndarray.

    Returns:
        ndarray of the shape of `a`, floating-point: integers become float32.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: matrices are not square, or one is singular.

    Example:
        >>> mx.np.linalg.inv(mx.np.array([[1.0, 2.0], [0.0, 4.0]]))
        array([[ 1.  , -0.5 ],
               [ 0.  ,  0.25]])
    """
    return _inverse("inv", _square("inv", a))


@documented
def det(a: ndarray) -> ndarray:
    """The determinants of square matrices.

    Args:
        a: square matrices in the last two axes, ndarray.

    Returns:
        ndarray, one number for each matrix.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: matrices are not square.

    Example:
        >>> mx.np.linalg.det(mx.np.array([[1.0, 2.0], [0.0, 4.0]]))
        array(4.)
    """
    return op.det(_square("det", a))


@documented
def slogdet(a: ndarray) -> list[ndarray]:
    """The signs of the determinants of square matrices, and the logarithms of their absolute values.

    Args:
        a: square matrices in the last two axes, ndarray.

    Returns:
        A list of both, ndarrays; the signs have no gradient.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: matrices are not square.

    Example:
        >>> mx.np.linalg.slogdet(mx.np.array([[-1.0, 0.0], [0.0, 1.0]]))
        [array(-1.), array(0.)]
    """
    x = _square("slogdet", a)
    return [constant(torch.linalg.slogdet(x.tensor.detach())[0]), op.log_abs_det(x)]


@documented
def cholesky(a: ndarray) -> ndarray:
    """The lower triangular matrices L with L L^T = a.

    Args:
        a: symmetric, positive definite matrices in the last two axes, ndarray; only the lower triangle is read.

    Returns:
        ndarray of the shape of `a`, floating-point: integers become float32.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: matrices are not square, or one is not positive definite.

    Example:
        >>> mx.np.linalg.cholesky(mx.np.array([[4.0, 2.0], [2.0, 2.0]]))
        array([[2., 0.],
               [1., 1.]])
    """
    y = op.cholesky(_square("cholesky", a))
    if not bool(torch.isfinite(y.tensor).all()) or bool((y.tensor.diagonal(0, -2, -1) <= 0).any()):
        raise MXNetError("cholesky: a matrix of a is not symmetric and positive definite")
    return y


@documented
def solve(a: ndarray, b: ndarray) -> ndarray:
    """The x with a x = b.

    Args:
        a: square matrices in the last two axes, ndarray.
        b: ndarray: vectors, of one axis less than `a`, or matrices.

    Returns:
        ndarray of the shape of `b`.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: matrices are not square, one is singular, or shapes do not fit.

    Example:
        >>> mx.np.linalg.solve(mx.np.array([[2.0, 0.0], [0.0, 4.0]]), mx.np.array([2.0, 2.0]))
        array([1. , 0.5])
    """
    x, y = _square("solve", a), _array("solve", b, "b")
    vector = y.ndim == x.ndim - 1  # one right-hand side for each matrix
    if not y.ndim or y.shape[-1 if vector else -2 % y.ndim] != x.shape[-1]:
        raise MXNetError(f"solve: b of shape {y.shape} does not fit a of shape {x.shape}")
    result = op.matmul(_inverse("solve", x), op.expand_dims(y, axis=y.ndim) if vector else y)
    return op.squeeze(result, axis=(result.ndim - 1,)) if vector else result


@documented
def matrix_power(a: ndarray, n: int) -> ndarray:
    """Square matrices multiplied with themselves.

    Args:
        a: square matrices in the last two axes, ndarray.
        n: how many factors; negative numbers are powers of the inverse.

    Returns:
        ndarray of the shape of `a`, floating-point: integers become float32.

    Raises:
        AssertionError: `a` is no array.
        TypeError: `n` is no integer.
        mxnet.base.MXNetError: matrices are not square, or one is singular while `n` is negative.

    Example:
        >>> mx.np.linalg.matrix_power(mx.np.array([[1.0, 1.0], [0.0, 1.0]]), 3)
        array([[1., 3.],
               [0., 1.]])
    """
    x = _square("matrix_power", a)
    if n < 0:
        x, n = _inverse("matrix_power", x), -n
    if n == 0:
        return constant(torch.eye(x.shape[-1], dtype=x.tensor.dtype, device=x.tensor.device).expand(x.shape).clone())
    y = x
    for _ in range(n - 1):
        y = op.matmul(y, x)
    return y


def _transposed(x: Any) -> Any:
    return op.transpose(x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _singular(x: Any) -> tuple[Any, Any, Any]:
    """U, the singular values L in descending order, and V of the reduced decomposition x = U diag(L) V."""
    if x.shape[-2] > x.shape[-1]:
        v, values, u = _singular(_transposed(x))
        return _transposed(u), values, _transposed(v)
    if not x.size:
        parts = torch.linalg.svd(x.tensor.detach(), full_matrices=False)
        return tuple(op.constant_of(x, constant(y)) for y in parts)  # type: ignore[return-value]
    wide = op.cast(x, dtype=torch.float64)  # squared small singular values would lose half their digits in float32
    vectors, squares = op.eigen_symmetric(op.matmul(wide, _transposed(wide)))
    u = op.flip(_transposed(vectors), axis=(x.ndim - 1,))
    values = op.sqrt(op.flip(op.maximum_scalar(squares, value=0.0), axis=(squares.ndim - 1,)))
    v = op.div(op.matmul(_transposed(u), wide), op.expand_dims(values, axis=values.ndim))
    return tuple(op.cast(y, dtype=x.tensor.dtype) for y in (u, values, v))  # type: ignore[return-value]


@documented
def svd(a: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """The singular value decomposition a = UT diag(L) V of matrices that are not taller than wide.

    Args:
        a: matrices in the last two axes, ndarray of shape (..., m, n) with m <= n.

    Returns:
        A tuple: UT, of shape (..., m, m), the singular values L, falling, and V, of shape (..., m, n).

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: it has less than two axes, or more rows than columns.

    Example:
        >>> ut, values, v = mx.np.linalg.svd(mx.np.array([[3.0, 0.0], [0.0, 2.0]]))
        >>> values
        array([3., 2.])
    """
    x = _array("svd", a)
    if x.ndim < 2 or x.shape[-2] > x.shape[-1]:
        raise MXNetError(f"svd: a must hold matrices with at least as many columns as rows, got shape {x.shape}")
    return _singular(x)


@documented
def tensorinv(a: ndarray, ind: int = 2) -> ndarray:
    """The inverse of an array as a linear map from its axes after the first `ind` to those.

    Args:
        a: ndarray, the product of whose first `ind` lengths is that of the other ones.
        ind: how many axes come first, 1 or more.

    Returns:
        ndarray of shape (*a.shape[ind:], *a.shape[:ind]).

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: `ind` is not positive, the shape does not fit, or the map is singular.

    Example:
        >>> mx.np.linalg.tensorinv(mx.np.eye(6).reshape(6, 2, 3), ind=1).shape
        (2, 3, 6)
    """
    x = _array("tensorinv", a)
    if ind <= 0:
        raise MXNetError(f"tensorinv: ind must be positive, got {ind}")
    before, after = x.shape[:ind], x.shape[ind:]
    n = math.prod(after)
    if math.prod(before) != n:
        raise MXNetError(f"tensorinv: shape {x.shape} is not square at axis {ind}")
    return op.reshape(_inverse("tensorinv", op.reshape(x, shape=(n, n))), shape=(*after, *before))


@documented
def tensorsolve(a: ndarray, b: ndarray, axes: int | Sequence[int] | None = None) -> ndarray:
    """The x with tensordot(a, x, x.ndim) = b.

    Args:
        a: ndarray of shape (*b.shape, *x.shape), with as many elements in x as in b.
        b: ndarray.
        axes: axes of `a` that are moved to its end first; None for none.

    Returns:
        ndarray, x.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: shapes do not fit, or the system is singular.

    Example:
        >>> mx.np.linalg.tensorsolve(mx.np.eye(4).reshape(4, 2, 2), mx.np.arange(4))
        array([[0., 1.],
               [2., 3.]])
    """
    x, y = _array("tensorsolve", a), _array("tensorsolve", b, "b")
    if axes is not None:
        last = [i % x.ndim for i in ((axes,) if isinstance(axes, int) else axes)]
        x = op.transpose(x, axes=(*(i for i in range(x.ndim) if i not in last), *last))
    # as in NumPy, whose slice counts from the end where `a` has at most as many axes as b
    shape, n = x.shape[y.ndim - x.ndim :], math.prod(y.shape)
    if math.prod(shape) != n or x.size != n * n:
        raise MXNetError(f"tensorsolve: a of shape {x.shape} and b of shape {y.shape} make no square system")
    found = op.matmul(_inverse("tensorsolve", op.reshape(x, shape=(n, n))), op.reshape(y, shape=(n, 1)))
    return op.reshape(found, shape=shape)


@documented
def multi_dot(arrays: Sequence[ndarray]) -> ndarray:
    """The product of several matrices.

    Args:
        arrays: a sequence of two ndarrays or more; the first one may be a row, and the last one a column, as a vector.

    Returns:
        ndarray of the widest dtype of the arrays.

    Raises:
        AssertionError: an element of `arrays` is no array.
        ValueError: there are less than two.
        mxnet.base.MXNetError: shapes do not fit.

    Example:
        >>> mx.np.linalg.multi_dot([mx.np.ones((1, 2)), mx.np.ones((2, 3)), mx.np.ones((3, 1))])
        array([[6.]])
    """
    if len(arrays) < 2:
        raise ValueError(f"multi_dot: expected at least two arrays, got {len(arrays)}")
    y = arrays[0]
    for x in arrays[1:]:
        y = dot(y, x)
    return y


_TYPES = {"a": "ndarray", "b": "ndarray", "x": "ndarray", "A": "ndarray", "UPLO": "str", "mode": "str",
          "hermitian": "bool", "rcond": "float | None", "tol": "float | None", "rtol": "float | None"}  # fmt: skip


def _of_numpy(name: str) -> Callable[..., Any]:
    function = getattr(onp.linalg, name)

    def convert(v: Any, device: Any) -> Any:
        if isinstance(v, tuple):
            parts = [convert(x, device) for x in v]
            return type(v)(*parts) if hasattr(v, "_fields") else tuple(parts)
        return constant(torch.from_numpy(onp.ascontiguousarray(v)).reshape(onp.shape(v)).to(device))

    def call(*args: Any, **kwargs: Any) -> Any:
        if notes.listener is not None:
            notes.listener("numpy", f"np.linalg.{name}")
        device = next((a.tensor.device for a in args if isinstance(a, NDArray)), None)
        return convert(function(*(a.asnumpy() if isinstance(a, NDArray) else a for a in args), **kwargs), device)

    call.__name__ = call.__qualname__ = name
    seen = inspect.signature(function)
    parameters = [p.replace(annotation=_TYPES.get(p.name, "Any")) for p in seen.parameters.values()]
    result = "ndarray" if name in ("cond", "eigvals", "eigvalsh", "matrix_rank", "pinv") else "tuple[ndarray, ...]"
    call.__signature__ = seen.replace(parameters=parameters, return_annotation=result)  # type: ignore[attr-defined]
    call.__doc__ = TEXTS.get(name)
    return documented(call, names=list(seen.parameters))


for _name in ("cond", "eig", "eigh", "eigvals", "eigvalsh", "lstsq", "matrix_rank", "qr"):  # fmt: skip
    globals()[_name] = _of_numpy(_name)
    __all__.append(_name)
_pinv = _of_numpy("pinv")


@documented
def pinv(a: ndarray, rcond: float | ndarray = 1e-15, hermitian: bool = False) -> ndarray:
    """The pseudo-inverses of matrices. There is no gradient.

    Args:
        a: matrices in the last two axes, ndarray.
        rcond: singular values below this part of the largest one count as 0.
        hermitian: whether the matrices are symmetric, which is faster.

    Returns:
        ndarray with the last two axes exchanged.

    Raises:
        numpy.linalg.LinAlgError: `a` has less than two axes.

    Example:
        >>> mx.np.linalg.pinv(mx.np.array([[1.0], [1.0]])).round(4)
        array([[0.5, 0.5]])
    """
    return _pinv(a, rcond, hermitian)
