"""Products of matrices and tensors, and `mxnet.nd.linalg`: factors, solutions and spectra of matrices."""

from __future__ import annotations

from math import isqrt, prod

import torch

from ..base import MXNetError
from ._arguments import axis_in, one_dtype, public_names, require_shape, vector
from ._operator import op, operator
from .ndarray import NDArray


# ---- products ------------------------------------------------------------------------------------------------------
@operator("lhs, rhs")
def dot(lhs, rhs, transpose_a=False, transpose_b=False, forward_stype=None):
    """The product of two matrices; of other arrays, the sum over the last axis of `lhs` and the first of `rhs`.

    transpose_a: the sum goes over the first axis of `lhs`; transpose_b: over the last one of `rhs`. Two vectors give
    shape (1,). MXNetError if lengths or dtypes differ.

    Args:
        lhs: at least one axis.
        rhs: an array whose first axis is as long as the last one of `lhs`.

    Example:
        >>> nd.dot(nd.array([[1.0, 2.0]]), nd.array([[3.0], [4.0]])).asnumpy()
        array([[11.]], dtype=float32)
    """
    a, b = lhs.tensor, rhs.tensor
    if a.dtype != b.dtype:
        one_dtype("dot", (lhs, rhs))
    if a.dim() == 2 and b.dim() == 2:
        if a.shape[0 if transpose_a else 1] != b.shape[1 if transpose_b else 0]:
            raise _mismatch("dot", lhs, rhs, transpose_a, transpose_b)
        return op.matmul(lhs, rhs, transa=bool(transpose_a), transb=bool(transpose_b))
    transpose_a, transpose_b = transpose_a and a.dim() > 1, transpose_b and b.dim() > 1
    left, inner = (a.shape[1:], a.shape[0]) if transpose_a else (a.shape[:-1], a.shape[-1])
    right, other = (b.shape[:-1], b.shape[-1]) if transpose_b else (b.shape[1:], b.shape[0])
    if inner != other:
        raise _mismatch("dot", lhs, rhs, transpose_a, transpose_b)
    m, n = prod(left), prod(right)
    x = op.reshape(lhs, shape=(inner, m) if transpose_a else (m, inner))
    y = op.reshape(rhs, shape=(n, inner) if transpose_b else (inner, n))
    product = op.matmul(x, y, transa=transpose_a, transb=transpose_b)
    return op.reshape(product, shape=(*left, *right) or (1,))


def _mismatch(name: str, lhs: NDArray, rhs: NDArray, transpose_a: bool, transpose_b: bool) -> MXNetError:
    return MXNetError(
        f"{name}: shapes {lhs.shape} and {rhs.shape} do not fit with transpose_a={bool(transpose_a)}, "
        f"transpose_b={bool(transpose_b)}"
    )


@operator("lhs, rhs")
def batch_dot(lhs, rhs, transpose_a=False, transpose_b=False, forward_stype=None):
    """Products of the matrices in the last two axes: (..., m, k) by (..., k, n) gives (..., m, n).

    MXNetError if the leading axes differ or the inner ones do not fit.

    Args:
        lhs: shape (batch, n, k).
        rhs: shape (batch, k, m).

    Example:
        >>> nd.batch_dot(nd.ones((2, 1, 3)), nd.ones((2, 3, 1))).asnumpy().ravel()
        array([3., 3.], dtype=float32)
    """
    if lhs.ndim < 3:
        raise MXNetError(f"batch_dot: lhs and rhs must have at least 3 dimensions, got {lhs.shape} and {rhs.shape}")
    return _product("batch_dot", lhs, rhs, transpose_a, transpose_b)


def _product(name: str, a: NDArray, b: NDArray, transpose_a: bool, transpose_b: bool) -> NDArray:
    # `tensor` would read values, which the weights of an attention need not have yet
    p, q = a.shape, b.shape
    if a.dtype != b.dtype:
        one_dtype(name, (a, b))
    if (
        len(p) < 2
        or len(p) != len(q)
        or p[:-2] != q[:-2]
        or p[-2 if transpose_a else -1] != q[-1 if transpose_b else -2]
    ):
        raise _mismatch(name, a, b, transpose_a, transpose_b)
    return op.matmul(a, b, transa=bool(transpose_a), transb=bool(transpose_b))


@operator("*args")
def khatri_rao(args):
    """Columns of Kronecker products: (m, k) and (n, k) give (m * n, k), and so on for more matrices.

    Args:
        args: matrices of as many columns and of one dtype; a list of them may be given as the only argument.

    Example:
        >>> nd.khatri_rao(nd.array([[1.0, 2.0]]), nd.array([[3.0, 4.0], [5.0, 6.0]])).asnumpy()
        array([[ 3.,  8.],
               [ 5., 12.]], dtype=float32)
    """
    if not args:
        raise MXNetError("khatri_rao: expected at least one matrix, got none")
    one_dtype("khatri_rao", args)
    for i, a in enumerate(args):
        if a.tensor.dim() != 2 or a.shape[1] != args[0].shape[1]:
            raise MXNetError(
                f"khatri_rao: inputs must be matrices of as many columns, got the shape {a.shape} for input {i}"
            )
    y, k = op.identity(args[0]), args[0].shape[1]
    for a in args[1:]:
        m, n = y.shape[0], a.shape[0]
        both = op.mul(op.reshape(y, shape=(m, 1, k)), op.reshape(a, shape=(1, n, k)))
        y = op.reshape(both, shape=(m * n, k))
    return y


# ---- linalg --------------------------------------------------------------------------------------------------------
def _scaled(x: NDArray, factor: float) -> NDArray:
    return x if factor == 1 else op.mul_scalar(x, value=factor)


def _rows_at(name: str, arrays: list[NDArray], axis: int) -> tuple[list[NDArray], list[int] | None]:
    """The arrays with the axis of the matrices' rows moved next to the last one, and the order that undoes it."""
    ndim = arrays[0].tensor.dim()
    axis = axis_in(name, axis, ndim)
    if axis == ndim - 2 or ndim < 2:
        return arrays, None
    if axis == ndim - 1:
        raise MXNetError(f"{name}: axis {axis} is the last one, which holds columns")
    there = [i for i in range(ndim - 1) if i != axis] + [axis, ndim - 1]
    back = [there.index(i) for i in range(ndim)]
    for a in arrays:
        if a.tensor.dim() != ndim:
            raise MXNetError(f"{name}: all inputs must have {ndim} dimensions, got the shape {a.shape}")
    return [op.transpose(a, axes=there) for a in arrays], back


@operator("A, B, C")
def linalg_gemm(A, B, C, transpose_a=False, transpose_b=False, alpha=1.0, beta=1.0, axis=-2):
    """alpha op(A) op(B) + beta C for matrices in batches; `axis` holds their rows, the last axis their columns.

    Args:
        beta: the factor of `C`.

    Example:
        >>> one = nd.ones((1, 1))
        >>> nd.linalg.gemm(one, one, one, alpha=2.0, beta=3.0).asnumpy()
        array([[5.]], dtype=float32)
    """
    one_dtype("linalg_gemm", (A, B, C))
    (a, b, c), back = _rows_at("linalg_gemm", [A, B, C], axis)
    y = _scaled(_product("linalg_gemm", a, b, transpose_a, transpose_b), alpha)
    require_shape("linalg_gemm", "C", c.shape, y.shape)
    y = op.add(y, _scaled(c, beta))
    return y if back is None else op.transpose(y, axes=back)


@operator("A, B")
def linalg_gemm2(A, B, transpose_a=False, transpose_b=False, alpha=1.0, axis=-2):
    """alpha op(A) op(B) for matrices in batches; `axis` holds their rows, the last axis their columns.

    Example:
        >>> nd.linalg.gemm2(nd.array([[1.0, 2.0]]), nd.array([[3.0], [4.0]])).asnumpy()
        array([[11.]], dtype=float32)
    """
    (a, b), back = _rows_at("linalg_gemm2", [A, B], axis) if axis != -2 else ((A, B), None)
    y = _scaled(_product("linalg_gemm2", a, b, transpose_a, transpose_b), alpha)
    return y if back is None else op.transpose(y, axes=back)


def _turned(x: NDArray) -> NDArray:
    """The transpose of each matrix."""
    n = x.tensor.dim()
    return op.transpose(x, axes=(*range(n - 2), n - 1, n - 2))


def _square(name: str, a: NDArray, argument: str = "A") -> int:
    shape = a.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise MXNetError(f"{name}: {argument} must hold square matrices, got the shape {shape}")
    return shape[-1]


@operator("A")
def linalg_potrf(A, lower=True):
    """Cholesky factors: lower triangular L with L L^T = A, or with `lower=False` upper triangular U with U^T U = A.

    Only that half of `A` is read. The gradient is that with respect to symmetric matrices. MXNetError if A is not
    positive definite.

    Args:
        A: symmetric, positive definite matrices in the last two axes, float32 or float64.

    Example:
        >>> nd.linalg.potrf(nd.array([[4.0, 2.0], [2.0, 2.0]])).asnumpy()
        array([[2., 0.],
               [1., 1.]], dtype=float32)
    """
    _square("linalg_potrf", A)
    y = op.cholesky(A if lower else _turned(A))
    if not bool(torch.isfinite(y.tensor).all()) or bool((y.tensor.diagonal(0, -2, -1) <= 0).any()):
        raise MXNetError("linalg_potrf: A is not symmetric and positive definite")
    return y if lower else _turned(y)


@operator("A")
def linalg_potri(A, lower=True):
    """(L L^T)^-1 of lower triangular matrices L = A, or (U^T U)^-1 of upper ones U = A.

    Args:
        A: triangular matrices in the last two axes, as `linalg_potrf` gives them.

    Example:
        >>> nd.linalg.potri(nd.array([[2.0, 0.0], [0.0, 1.0]])).asnumpy()
        array([[0.25, 0.  ],
               [0.  , 1.  ]], dtype=float32)
    """
    n = _square("linalg_potri", A)
    identity = torch.eye(n, dtype=A.tensor.dtype, device=A.tensor.device).expand(A.tensor.shape)
    inverse = op.solve_triangular(A, NDArray(identity.contiguous()), lower=bool(lower))
    return op.matmul(inverse, inverse, transa=bool(lower), transb=not lower)


def _triangular(name: str, a: NDArray, b: NDArray, rightside: bool) -> None:
    n = _square(name, a)
    one_dtype(name, (a, b))
    if b.tensor.dim() != a.tensor.dim() or b.shape[:-2] != a.shape[:-2] or b.shape[-1 if rightside else -2] != n:
        raise MXNetError(f"{name}: B of shape {b.shape} does not fit A of shape {a.shape}, rightside={rightside}")


@operator("A, B")
def linalg_trmm(A, B, transpose=False, rightside=False, lower=True, alpha=1.0):
    """alpha op(A) B, or alpha B op(A) with `rightside`, for triangular matrices A; their other half is not read.

    Args:
        A: triangular matrices in the last two axes, float32 or float64.

    Example:
        >>> nd.linalg.trmm(nd.array([[1.0, 0.0], [2.0, 1.0]]), nd.ones((2, 1))).asnumpy()
        array([[1.],
               [3.]], dtype=float32)
    """
    _triangular("linalg_trmm", A, B, rightside)
    a = op.tril(A) if lower else op.triu(A)
    y = op.matmul(B, a, transb=bool(transpose)) if rightside else op.matmul(a, B, transa=bool(transpose))
    return _scaled(y, alpha)


@operator("A, B")
def linalg_trsm(A, B, transpose=False, rightside=False, lower=True, alpha=1.0):
    """X of op(A) X = alpha B, or X op(A) = alpha B with `rightside`, for triangular A; the other half is not read.

    Args:
        A: triangular matrices in the last two axes, float32 or float64.

    Example:
        >>> nd.linalg.trsm(nd.array([[1.0, 0.0], [2.0, 1.0]]), nd.array([[1.0], [3.0]])).asnumpy()
        array([[1.],
               [1.]], dtype=float32)
    """
    _triangular("linalg_trsm", A, B, rightside)
    y = op.solve_triangular(A, B, lower=bool(lower), transpose=bool(transpose), right=bool(rightside))
    return _scaled(y, alpha)


@operator("A")
def linalg_syrk(A, transpose=False, alpha=1.0):
    """alpha A A^T, or alpha A^T A with `transpose`.

    Example:
        >>> nd.linalg.syrk(nd.array([[1.0, 2.0]])).asnumpy()
        array([[5.]], dtype=float32)
    """
    if A.tensor.dim() < 2:
        raise MXNetError(f"linalg_syrk: A must have at least 2 dimensions, got the shape {A.shape}")
    return _scaled(op.matmul(A, A, transa=bool(transpose), transb=not transpose), alpha)


@operator("A")
def linalg_sumlogdiag(A):
    """The sum of the logarithms of the diagonal of each matrix; shape (1,) for a single one.

    Args:
        A: square matrices in the last two axes, with positive numbers on the diagonal.

    Returns:
        NDArray of the dtype of `A`, one number for each matrix.

    Example:
        >>> nd.linalg.sumlogdiag(nd.eye(2) * 2).asnumpy().round(3)
        array([1.386], dtype=float32)
    """
    _square("linalg_sumlogdiag", A)
    return vector(op.sum(op.log(op.diagonal(A, offset=0, axis1=-2, axis2=-1)), axis=[-1]))


@operator("A")
def linalg_extractdiag(A, offset=0):
    """The diagonal of each square matrix, moved up by `offset`.

    Returns:
        NDArray of the dtype of `A`, with the diagonal as last axis.

    Example:
        >>> nd.linalg.extractdiag(nd.array([[1.0, 2.0], [3.0, 4.0]])).asnumpy()
        array([1., 4.], dtype=float32)
    """
    n = _square("linalg_extractdiag", A)
    if abs(offset) >= n:
        raise MXNetError(f"linalg_extractdiag: offset {offset} is outside matrices of shape {A.shape}")
    return op.diagonal(A, offset=offset, axis1=-2, axis2=-1)


@operator("A")
def linalg_makediag(A, offset=0):
    """Matrices with the vectors in the last axis on their diagonals, moved up by `offset`.

    Args:
        A: diagonals in the last axis.

    Example:
        >>> nd.linalg.makediag(nd.array([1.0, 2.0])).asnumpy()
        array([[1., 0.],
               [0., 2.]], dtype=float32)
    """
    n = A.shape[-1] + abs(offset)
    return op.diagonal_grad(A, shape=(*A.shape[:-1], n, n), offset=offset, axis1=-2, axis2=-1)


def _triangle(n: int, offset: int, lower: bool, device: torch.device) -> NDArray:
    """Positions of a triangle's elements in flattened n x n matrices: row by row, of an upper one column by column."""
    size = n - abs(offset)
    rows, columns = torch.tril_indices(size, size, device=device)
    if offset < 0 or (offset == 0 and lower):
        return NDArray((rows - min(offset, 0)) * n + columns)
    return NDArray(columns * n + rows + offset)


@operator("A")
def linalg_extracttrian(A, offset=0, lower=True):
    """The elements of a triangle of each matrix as a vector: the lower or upper one, from the diagonal `offset` on.

    Returns:
        NDArray of the dtype of `A`, with the triangle's rows, one after the other, as last axis.

    Example:
        >>> nd.linalg.extracttrian(nd.array([[1.0, 2.0], [3.0, 4.0]])).asnumpy()
        array([1., 3., 4.], dtype=float32)
    """
    n = _square("linalg_extracttrian", A)
    if abs(offset) >= n:
        raise MXNetError(f"linalg_extracttrian: offset {offset} is outside matrices of shape {A.shape}")
    flat = op.reshape(A, shape=(*A.shape[:-2], n * n))
    return op.select_along(flat, _triangle(n, offset, lower, A.tensor.device), axis=-1)


@operator("A")
def linalg_maketrian(A, offset=0, lower=True):
    """Matrices with the vectors in the last axis as a triangle: the inverse of `linalg_extracttrian`.

    Args:
        A: rows of triangles, one after the other, in the last axis.

    Example:
        >>> nd.linalg.maketrian(nd.array([1.0, 3.0, 4.0])).asnumpy()
        array([[1., 0.],
               [3., 4.]], dtype=float32)
    """
    length = A.shape[-1]
    m = (isqrt(8 * length + 1) - 1) // 2
    if m * (m + 1) // 2 != length:
        raise MXNetError(f"linalg_maketrian: {length} elements, the last axis of A, do not make a triangle")
    n = m + abs(offset)
    flat = op.add_along(A, _triangle(n, offset, lower, A.tensor.device), axis=A.tensor.dim() - 1, size=n * n)
    return op.reshape(flat, shape=(*A.shape[:-1], n, n))


@operator("A")
def linalg_inverse(A):
    """The inverses of square matrices. MXNetError for a singular one.

    Args:
        A: square matrices in the last two axes.

    Example:
        >>> nd.linalg.inverse(nd.array([[2.0, 0.0], [0.0, 4.0]])).asnumpy()
        array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    _square("linalg_inverse", A)
    y = op.inverse(A)
    if not bool(torch.isfinite(y.tensor).all()):
        raise MXNetError("linalg_inverse: A is singular")
    return y


@operator("A")
def linalg_det(A):
    """The determinants of square matrices; shape (1,) for a single one.

    Args:
        A: square matrices in the last two axes.

    Returns:
        NDArray of the dtype of `A`, one number for each matrix.

    Example:
        >>> nd.linalg.det(nd.array([[2.0, 0.0], [0.0, 4.0]])).asnumpy()
        array([8.], dtype=float32)
    """
    _square("linalg_det", A)
    return vector(op.det(A))


@operator("A", outputs=2)
def linalg_slogdet(A):
    """Signs and logarithms of the absolute values of determinants, a list. Signs are constant.

    Args:
        A: square matrices in the last two axes.

    Returns:
        A list of the signs and the logarithms of the absolute values, one number for each matrix.

    Example:
        >>> [y.asnumpy().round(3).item() for y in nd.linalg.slogdet(nd.array([[-2.0, 0.0], [0.0, 1.0]]))]
        [-1.0, 0.6930000185966492]
    """
    _square("linalg_slogdet", A)
    size = vector(op.log_abs_det(A))
    sign = NDArray(torch.linalg.slogdet(A.tensor.detach())[0].reshape(size.shape))
    return [op.straight_through(sign, op.unlink(size)), size]


@operator("A", outputs=2)
def linalg_gelqf(A):
    """Q and L, a list, with A = L Q for matrices with at least as many columns as rows: orthonormal rows of Q, lower
    triangular L.

    Args:
        A: matrices in the last two axes, with no more rows than columns.

    Returns:
        A list of Q, whose rows are orthonormal, and L, the triangular factor.

    Example:
        >>> Q, L = nd.linalg.gelqf(nd.array([[3.0, 4.0]]))
        >>> abs(nd.dot(L, Q)).asnumpy().round(3)
        array([[3., 4.]], dtype=float32)
    """
    if A.tensor.dim() < 2 or A.shape[-2] > A.shape[-1]:
        raise MXNetError(f"linalg_gelqf: A must have at least as many columns as rows, got the shape {A.shape}")
    # torch's factor L0 is not differentiated. M = L0^-1 A is orthonormal up to rounding, so that the Cholesky factor C
    # of M M^T is nearly the identity: L = L0 C and Q = C^-1 M are accurate and can be differentiated.
    known = NDArray(torch.linalg.qr(A.tensor.detach().transpose(-2, -1))[1].transpose(-2, -1).contiguous())
    m = op.solve_triangular(known, A)
    c = op.cholesky(op.matmul(m, m, transb=True))
    return [op.solve_triangular(c, m), op.matmul(known, c)]


@operator("A", outputs=2)
def linalg_syevd(A):
    """Eigenvectors, as the rows of U, and ascending eigenvalues L of symmetric matrices, a list: A = U^T diag(L) U.

    Only the lower half of `A` is read. The largest component of each eigenvector is positive.

    Args:
        A: symmetric matrices in the last two axes.

    Returns:
        A list of U, whose rows are eigenvectors, and the eigenvalues, ascending.

    Example:
        >>> nd.linalg.syevd(nd.array([[2.0, 0.0], [0.0, 1.0]]))[1].asnumpy()
        array([1., 2.], dtype=float32)
    """
    _square("linalg_syevd", A)
    return list(op.eigen_symmetric(A))


__all__ = public_names(globals())
for _name in __all__:
    if _name.startswith("linalg_"):
        globals()[_name.removeprefix("linalg_")] = globals()[_name]
