"""`mx.np.linalg`: norms, and what the engine has of matrices; the rest is NumPy's, without gradients."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from ..base import MXNetError
from ..ndarray._operator import not_an_array, op
from ..ndarray.ndarray import NDArray
from ._array import constant, floats, ndarray
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


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """`numpy.linalg.norm`: of vectors (any order) or matrices (Frobenius, 1, -1, inf, -inf)."""
    a = _array("norm", x, "x")
    if ord in ("inf", "-inf"):
        ord = float(ord)
    if axis is None and ord is None:
        axes = tuple(range(a.ndim))
        return op.sqrt(op.sum(op.square(a), axis=axes or None, keepdims=keepdims))
    axes = tuple(range(a.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(i % a.ndim for i in axes)
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


def inv(a: Any) -> Any:
    """`numpy.linalg.inv`: inverses of square matrices."""
    return op.inverse(_square("inv", a))


def det(a: Any) -> Any:
    """`numpy.linalg.det`: determinants of square matrices."""
    return op.det(_square("det", a))


def slogdet(a: Any) -> list[Any]:
    """`numpy.linalg.slogdet`: the sign and the logarithm of the determinant."""
    x = _square("slogdet", a)
    return [constant(torch.linalg.slogdet(x.tensor.detach())[0]), op.log_abs_det(x)]


def cholesky(a: Any) -> Any:
    """`numpy.linalg.cholesky`: the lower triangular matrices L with L L^T = a."""
    return op.cholesky(_square("cholesky", a))


def solve(a: Any, b: Any) -> Any:
    """`numpy.linalg.solve`: x with a x = b."""
    x, y = _square("solve", a), _array("solve", b, "b")
    vector = y.ndim == x.ndim - 1  # one right-hand side for each matrix
    result = op.matmul(op.inverse(x), op.expand_dims(y, axis=y.ndim) if vector else y)
    return op.squeeze(result, axis=(result.ndim - 1,)) if vector else result


def matrix_power(a: Any, n: int) -> Any:
    """`numpy.linalg.matrix_power`: a times itself, n times; inverted for negative n."""
    x = _square("matrix_power", a)
    if n < 0:
        x, n = op.inverse(x), -n
    if n == 0:
        return constant(torch.eye(x.shape[-1], dtype=x.tensor.dtype, device=x.tensor.device).expand(x.shape).clone())
    y = x
    for _ in range(n - 1):
        y = op.matmul(y, x)
    return y


def _transposed(x: Any) -> Any:
    return op.transpose(x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _singular(x: Any) -> tuple[Any, Any, Any]:
    """U, the singular values from the largest on, and V of x = U diag(L) V; of as many as the shorter side has."""
    if x.shape[-2] > x.shape[-1]:
        v, values, u = _singular(_transposed(x))
        return _transposed(u), values, _transposed(v)
    if not x.size:
        parts = torch.linalg.svd(x.tensor.detach(), full_matrices=False)
        return tuple(op.constant_of(x, constant(y)) for y in parts)  # type: ignore[return-value]
    wide = op.cast(x, dtype=torch.float64)  # squares of small values have half as many digits
    vectors, squares = op.eigen_symmetric(op.matmul(wide, _transposed(wide)))
    u = op.flip(_transposed(vectors), axis=(x.ndim - 1,))
    values = op.sqrt(op.flip(op.maximum_scalar(squares, value=0.0), axis=(squares.ndim - 1,)))
    v = op.div(op.matmul(_transposed(u), wide), op.expand_dims(values, axis=values.ndim))
    return tuple(op.cast(y, dtype=x.tensor.dtype) for y in (u, values, v))  # type: ignore[return-value]


def svd(a: Any) -> tuple[Any, Any, Any]:
    """The singular value decomposition a = UT diag(L) V of matrices that are not taller than wide: (UT, L, V)."""
    x = _array("svd", a)
    if x.ndim < 2 or x.shape[-2] > x.shape[-1]:
        raise MXNetError(f"svd: a must hold matrices with at least as many columns as rows, got shape {x.shape}")
    return _singular(x)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """`numpy.linalg.tensorinv`: the inverse of `a` as a map from its axes after `ind` to those before."""
    x = _array("tensorinv", a)
    if ind <= 0:
        raise MXNetError(f"tensorinv: ind must be positive, got {ind}")
    before, after = x.shape[:ind], x.shape[ind:]
    n = math.prod(after)
    if math.prod(before) != n:
        raise MXNetError(f"tensorinv: shape {x.shape} is not square at axis {ind}")
    return op.reshape(op.inverse(op.reshape(x, shape=(n, n))), shape=(*after, *before))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """`numpy.linalg.tensorsolve`: x with tensordot(a, x, x.ndim) = b; `axes` of `a` go to its end before."""
    x, y = _array("tensorsolve", a), _array("tensorsolve", b, "b")
    if axes is not None:
        last = [i % x.ndim for i in ((axes,) if isinstance(axes, int) else axes)]
        x = op.transpose(x, axes=(*(i for i in range(x.ndim) if i not in last), *last))
    # NumPy counts from the end: of as many axes as b has, or fewer, the last ones are those of x
    shape, n = x.shape[y.ndim - x.ndim :], math.prod(y.shape)
    if math.prod(shape) != n:
        raise MXNetError(f"tensorsolve: a of shape {x.shape} and b of shape {y.shape} make no square system")
    found = op.matmul(op.inverse(op.reshape(x, shape=(n, n))), op.reshape(y, shape=(n, 1)))
    return op.reshape(found, shape=shape)


def multi_dot(arrays: Any) -> Any:
    """`numpy.linalg.multi_dot`: the product of several matrices."""
    y = arrays[0]
    for x in arrays[1:]:
        y = dot(y, x)
    return y


def _of_numpy(name: str) -> Callable[..., Any]:
    function = getattr(onp.linalg, name)

    def convert(v: Any, device: Any) -> Any:
        if isinstance(v, tuple):
            parts = [convert(x, device) for x in v]
            return type(v)(*parts) if hasattr(v, "_fields") else tuple(parts)
        return constant(torch.from_numpy(onp.ascontiguousarray(v)).reshape(onp.shape(v)).to(device))

    def call(*args: Any, **kwargs: Any) -> Any:
        device = next((a.tensor.device for a in args if isinstance(a, NDArray)), None)
        return convert(function(*(a.asnumpy() if isinstance(a, NDArray) else a for a in args), **kwargs), device)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.linalg.{name}`; no gradient."
    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call


for _name in ("cond", "eig", "eigh", "eigvals", "eigvalsh", "lstsq", "matrix_rank", "qr"):  # fmt: skip
    globals()[_name] = _of_numpy(_name)
    __all__.append(_name)
_pinv = _of_numpy("pinv")


def pinv(a: Any, rcond: Any = 1e-15, hermitian: bool = False) -> Any:
    """`numpy.linalg.pinv`: the pseudo-inverse; no gradient. Singular values below `rcond` of the largest count as 0."""
    return _pinv(a, rcond, hermitian)
