"""Sparse matrices in coordinate format. Mirrors ``chainer.utils.sparse``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.backends import cuda  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray

_ORDERS = ("C", "F", "other", None)


class CooMatrix:
    """A sparse matrix, or a batch of them, in coordinate format, for `F.sparse_matmul`. `data` becomes a Variable;
    `row`, `col`, `shape` and `order` are attributes too.

    Args:
        data: the entries, of shape (nnz,), or (batch, nnz) for a batch.
        row, col: int arrays of the same shape: the row and the column of each entry; -1 in both marks padding.
        shape: shape of one matrix.
        order: "C" promises that the entries are sorted by row, "F" by column, "other" promises nothing; None finds it
            out.
        requires_grad: whether `data` gets a gradient.

    Raises:
        ValueError: the arrays do not have the same number of axes, 1 or 2; `shape` does not have two positive numbers;
            or `order` has another value.

    Example:
        >>> m = chainer.utils.CooMatrix(np.array([2.0, 3.0]), np.array([0, 1]), np.array([1, 0]), (2, 2))
        >>> m.to_dense(), m.order
        (array([[0., 2.],
               [3., 0.]]), 'C')

    Source: `chainer.utils.CooMatrix` of Chainer 7.8.1.
    """

    def __init__(
        self,
        data: NdArray,
        row: NdArray,
        col: NdArray,
        shape: tuple[int, int],
        order: str | None = None,
        requires_grad: bool = False,
    ) -> None:
        if data.ndim not in (1, 2):
            raise ValueError(f"ndim of data must be 1 or 2, not {data.ndim}.")
        if not data.ndim == row.ndim == col.ndim:
            raise ValueError(f"ndim of data, row and col must be the same: {data.ndim}, {row.ndim}, {col.ndim}.")
        if len(shape) != 2:
            raise ValueError(f"length of shape must be 2, not {len(shape)}.")
        if not (shape[0] > 0 and shape[1] > 0):
            raise ValueError(f"numbers in shape must be greater than 0: {shape}.")
        if order not in _ORDERS:
            raise ValueError(f"order must be 'C', 'F', 'other' or None, not {order!r}.")
        self.data = frontend.variable_class(data, requires_grad=requires_grad)
        self.row = row
        self.col = col
        self.shape = shape
        self.order = get_order(row, col) if order is None else order

    def to_dense(self) -> NdArray:
        """The matrix, or batch of matrices, as an array."""
        data = self.data.array
        xp = backend.get_array_module(data)
        dense = xp.zeros(data.shape[:-1] + tuple(self.shape), dtype=data.dtype)
        valid = (self.row >= 0) & (self.col >= 0)
        places = (self.row[valid], self.col[valid])
        if data.ndim == 2:
            places = (xp.nonzero(valid)[0], *places)
        xp.add.at(dense, places, data[valid])
        return dense


def to_coo(x: NdArray, ldnz: int | None = None, requires_grad: bool = False) -> CooMatrix:
    """The sparse form of a matrix, or of a batch of matrices: the elements that are not 0.

    Args:
        x: array of shape (m, n) or (batch, m, n).
        ldnz: least number of entries to store for each matrix; the padding is 0 at (-1, -1). None is the largest
            number of entries of a matrix.
        requires_grad: whether the entries get a gradient.

    Returns:
        The sparse matrix, on the array's device, with indices of int32.

    Raises:
        AttributeError: `x` is no array.
        ValueError: `x` has another number of axes.

    Example:
        >>> m = chainer.utils.to_coo(np.array([[0.0, 2.0], [3.0, 0.0]]), ldnz=3)
        >>> m.data.array, m.row, m.col
        (array([2., 3., 0.]), array([ 0,  1, -1], dtype=int32), array([ 1,  0, -1], dtype=int32))

    Source: `chainer.utils.to_coo` of Chainer 7.8.1.
    """
    if x.ndim not in (2, 3):
        raise ValueError(f"ndim of x must be 2 or 3, not {x.ndim}.")
    xp = backend.get_array_module(x)
    matrices = x if x.ndim == 3 else x[None]
    found = [xp.nonzero(matrix) for matrix in matrices]
    places = max([len(row) for row, _ in found] + [ldnz or 0])
    data = xp.zeros((len(matrices), places), dtype=x.dtype)
    row = xp.full(data.shape, -1, dtype=numpy.int32)
    col = xp.full(data.shape, -1, dtype=numpy.int32)
    for i, (r, c) in enumerate(found):
        data[i, : len(r)] = matrices[i, r, c]
        row[i, : len(r)] = r
        col[i, : len(r)] = c
    if x.ndim == 2:
        data, row, col = data[0], row[0], col[0]
    return CooMatrix(data, row, col, x.shape[-2:], requires_grad=requires_grad)


def get_order(row: NdArray, col: NdArray) -> str:
    """The order in which the entries of a sparse matrix, or of all matrices of a batch, are sorted. Entries with -1 in
    both arrays are padding.

    Args:
        row, col: int arrays of shape (nnz,) or (batch, nnz): the rows and columns of the entries.

    Returns:
        "C" where they are sorted by row and, within it, by column; "F" where by column first; otherwise "other".

    Raises:
        ValueError: the shapes differ, or only one of an entry's two indices is negative.

    Example:
        >>> chainer.utils.get_order(np.array([0, 0, 1]), np.array([0, 1, 0]))
        'C'

    Source: `chainer.utils.get_order` of Chainer 7.8.1.
    """
    if _is_c_order(row, col):
        return "C"
    if _is_c_order(col, row):
        return "F"
    return "other"


def _is_c_order(row, col):
    if row.shape != col.shape:
        raise ValueError(f"shape of row and col must be the same: {row.shape}, {col.shape}.")
    if row.ndim != 1:
        return all(_is_c_order(r, c) for r, c in zip(row, col, strict=True))
    if ((row < 0) != (col < 0)).any():
        raise ValueError("invalid index combination of row and col: only one of them is negative.")
    row, col = row[row >= 0], col[col >= 0]
    row_step, col_step = row[1:] - row[:-1], col[1:] - col[:-1]
    return bool(((row_step > 0) | ((row_step == 0) & (col_step >= 0))).all())
