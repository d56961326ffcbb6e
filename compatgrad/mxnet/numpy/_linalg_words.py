"""Docstrings of those functions of `mx.np.linalg` that NumPy computes."""

__all__ = ["TEXTS"]

_ERRORS = """
    Raises:
        numpy.linalg.LinAlgError: the array has less than two axes, {}.
"""
_UPLO = 'UPLO: "L" or "U": which triangle of the matrices is read.'
TEXTS = {
    "cond": f"""The condition number: the norm of a matrix times the norm of its inverse. There is no gradient.

    Args:
        x: matrices, ndarray.
        p: the order of the norm, as in `norm`; None is 2.

    Returns:
        ndarray, one number for each matrix.
{_ERRORS.format("or no square matrices with another `p` than 2")}
    Example:
        >>> mx.np.linalg.cond(mx.np.array([[1.0, 0.0], [0.0, 4.0]]))
        array(4.)
    """,
    "eig": f"""The eigenvalues and eigenvectors of square matrices whose eigenvalues are real. There is no gradient.

    Args:
        a: square matrices, ndarray.

    Returns:
        A tuple: the eigenvalues, and matrices whose columns are the eigenvectors.
{_ERRORS.format("or no square matrices")}
    Example:
        >>> values, vectors = mx.np.linalg.eig(mx.np.array([[2.0, 0.0], [0.0, 3.0]]))
        >>> values
        array([2., 3.])
    """,
    "eigh": f"""The eigenvalues and eigenvectors of symmetric matrices. There is no gradient.

    Args:
        a: symmetric matrices, ndarray.
        {_UPLO}

    Returns:
        A tuple: the eigenvalues, rising, and matrices whose columns are the eigenvectors.
{_ERRORS.format("or no square matrices")}        ValueError: `UPLO` has another value.

    Example:
        >>> values, vectors = mx.np.linalg.eigh(mx.np.array([[2.0, 1.0], [1.0, 2.0]]))
        >>> values.round(4)
        array([1., 3.])
    """,
    "eigvals": f"""The eigenvalues of square matrices, where they are real. There is no gradient.

    Args:
        a: square matrices, ndarray.
{_ERRORS.format("or no square matrices")}
    Example:
        >>> mx.np.linalg.eigvals(mx.np.array([[2.0, 0.0], [0.0, 3.0]]))
        array([2., 3.])
    """,
    "eigvalsh": f"""The eigenvalues of symmetric matrices, rising. There is no gradient.

    Args:
        a: symmetric matrices, ndarray.
        {_UPLO}
{_ERRORS.format("or no square matrices")}        ValueError: `UPLO` has another value.

    Example:
        >>> mx.np.linalg.eigvalsh(mx.np.array([[2.0, 1.0], [1.0, 2.0]])).round(4)
        array([1., 3.])
    """,
    "lstsq": f"""The x for which a x is nearest to b: the sum of squared differences is least. There is no gradient.

    Args:
        a: a matrix, ndarray of shape (m, n).
        b: ndarray of shape (m,) or (m, k).
        rcond: singular values below this part of the largest one count as 0; None is max(m, n) times the precision of
            the dtype.

    Returns:
        A tuple: x, the sums of squared differences (none where `a` has a rank below n, or m <= n), the rank and the
        singular values of `a`.
{_ERRORS.format("more than two, or `b` does not fit")}
    Example:
        >>> x, *_ = mx.np.linalg.lstsq(mx.np.array([[1.0], [1.0]]), mx.np.array([1.0, 3.0]), rcond=None)
        >>> x.round(4)
        array([2.])
    """,
    "matrix_rank": """The rank of matrices: the number of singular values above a threshold. There is no gradient.

    Args:
        A: matrices, ndarray.
        tol: the threshold; None is the largest singular value times max(m, n) times the precision of the dtype.
        hermitian: whether the matrices are symmetric, which is faster.
        rtol: the threshold as a part of the largest singular value, instead of `tol`.

    Returns:
        ndarray, int64.

    Raises:
        numpy.linalg.LinAlgError: with `hermitian`, matrices are not square.
        ValueError: both `tol` and `rtol` are given.

    Example:
        >>> mx.np.linalg.matrix_rank(mx.np.array([[1.0, 2.0], [2.0, 4.0]]))
        array(1, dtype=int64)
    """,
    "qr": f"""Matrices as products of an orthogonal matrix Q and an upper triangular one R. There is no gradient.

    Args:
        a: matrices, ndarray of shape (..., m, n).
        mode: "reduced", Q has min(m, n) columns; "complete", it has m; "r", only R is the result; "raw", what LAPACK
            gives.

    Returns:
        A tuple: Q and R.
{_ERRORS.format("or NumPy cannot factorize it")}        ValueError: `mode` has another value.

    Example:
        >>> q, r = mx.np.linalg.qr(mx.np.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> mx.np.dot(q, r).round(4)
        array([[3., 1.],
               [4., 2.]])
    """,
}
