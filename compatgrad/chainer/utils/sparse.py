"""Sparse matrices in coordinate format. Mirrors ``chainer.utils.sparse``."""

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.backends import cuda

_ORDERS = ("C", "F", "other", None)


class CooMatrix:
    """A sparse matrix, or a batch of them, in coordinate format.

    `data`, `row` and `col` are arrays (nnz,) or (batch, nnz): the entries and where they are; -1 as row and
    column marks padding. `shape` is that of one matrix. `order` tells that the rows are sorted (``'C'``),
    or the columns (``'F'``), or neither (``'other'``); None finds it out. Raises ValueError for wrong
    shapes or another order.
    """

    def __init__(self, data, row, col, shape, order=None, requires_grad=False):
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

    def to_dense(self):
        """The matrix, or batch of matrices, as an array."""
        data = self.data.array
        xp = backend.get_array_module(data)
        dense = xp.zeros(data.shape[:-1] + tuple(self.shape), dtype=data.dtype)
        add_at = cuda.cupyx.scatter_add if xp is cuda.cupy else numpy.add.at
        valid = (self.row >= 0) & (self.col >= 0)
        places = (self.row[valid], self.col[valid])
        if data.ndim == 2:
            places = (xp.nonzero(valid)[0], *places)
        add_at(dense, places, data[valid])
        return dense


def to_coo(x, ldnz=None, requires_grad=False):
    """A `CooMatrix` of the elements of `x` that are not 0; `x` is a matrix, or an array of matrices.

    `ldnz` is the least number of places per matrix; those that are free hold 0 at (-1, -1).
    Raises ValueError for another number of axes.
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


def get_order(row, col):
    """``'C'`` where the entries are sorted by row, ``'F'`` where by column, otherwise ``'other'``."""
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
