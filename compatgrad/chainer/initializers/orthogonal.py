"""Orthogonal weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializers._random import _Random
from compatgrad.chainer.utils import size_of_shape

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import Array, DType

__all__ = ["Orthogonal"]

_MODES = {
    # (more inputs than outputs are an error, fewer are an error)
    "auto": (False, False),
    "projection": (False, True),
    "embedding": (True, False),
    "basis": (True, True),
}


class Orthogonal(_Random):
    """Makes the rows or the columns of a matrix, whichever are fewer, orthogonal and of norm `scale`; all axes but the
    first are flattened to one.

    The values are the Q of a QR decomposition of normal numbers, drawn on the CPU, with signs that make R's diagonal
    positive. An array without axes gets `scale` or `-scale`.

    Args:
        scale: norm of the rows or columns.
        dtype: dtype that the array must have; None takes an array of any.
        mode: which shapes are taken: "auto" all, "projection" those with at least as many inputs as outputs,
            "embedding" those with at most as many, "basis" those with equally many.
        **kwargs: `rng`, a NumPy `RandomState` from which values are drawn; without it they come from NumPy's global
            generator.

    Raises:
        ValueError: `mode` is none of these; when called, the array is empty or `mode` does not allow its shape.
        TypeError: a keyword other than `rng`.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> w = np.empty((2, 5), np.float32)
        >>> chainer.initializers.Orthogonal(scale=1.0)(w)
        >>> bool(np.allclose(w @ w.T, np.eye(2), atol=1e-6))
        True

    Source: `chainer.initializers.Orthogonal` of Chainer 7.8.1; A. Saxe et al., 2013, https://arxiv.org/abs/1312.6120.
    """

    def __init__(self, scale: float = 1.1, dtype: DType | None = None, mode: str = "auto", **kwargs: Any) -> None:
        if mode not in _MODES:
            raise ValueError(f"Invalid mode: {mode!r}. Choose from {', '.join(map(repr, _MODES))}.")
        self.mode = mode
        super().__init__(scale, dtype, kwargs)

    def __call__(self, array: Array) -> None:
        self._check_dtype(array)
        random = numpy.random if self.rng is None else self.rng
        if not array.shape:
            array[...] = self.scale * (2 * int(random.randint(2)) - 1)
            return
        if not array.size:
            raise ValueError(f"Array to be initialized must be non-empty, not of shape {array.shape}.")
        n_out, n_in = len(array), size_of_shape(array.shape[1:])
        no_more, no_fewer = _MODES[self.mode]
        if n_in > n_out and no_more or n_in < n_out and no_fewer:
            raise ValueError(
                f"Cannot make orthogonal {self.mode}. shape = {array.shape}, "
                f"interpreted as {n_in}-dim input and {n_out}-dim output."
            )
        a = backend.CpuDevice().send(random.normal(size=(n_out, n_in)))
        q, r = numpy.linalg.qr(a.T if n_in > n_out else a)
        q *= numpy.copysign(self.scale, numpy.diag(r))
        if n_in > n_out:
            q = q.T
        backend.copyto(array, q.reshape(array.shape).astype(array.dtype, copy=False))
