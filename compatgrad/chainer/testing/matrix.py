"""Random matrices with given singular values."""

from __future__ import annotations

from typing import Any

import numpy as np


def generate_matrix(shape: tuple[int, ...], dtype: Any = float, *, singular_values: Any = None) -> np.ndarray:
    """Draws a random matrix, or a stack of them, of given singular values, from NumPy's global random stream.

    Args:
        shape: shape (..., M, N).
        dtype: real or complex floating dtype.
        singular_values: the singular values, not negative, of a shape that can be broadcast to (..., min(M, N)).

    Returns:
        The array.

    Raises:
        TypeError: `dtype` is not such a dtype, or `singular_values` is missing or complex.
        ValueError: `shape` has fewer than 2 axes, or `singular_values` has a negative number or another shape.

    Example:
        >>> from compatgrad.chainer import testing
        >>> x = testing.generate_matrix((3, 2), singular_values=[2.0, 1.0])
        >>> np.linalg.svd(x)[1].round(6)
        array([2., 1.])

    Source: `chainer.testing.generate_matrix` of Chainer 7.8.1.
    """
    if len(shape) <= 1:
        raise ValueError(f"shape {shape} is invalid for matrices: too few axes")
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        raise TypeError(f"dtype {dtype} is not supported")
    if singular_values is None:
        raise TypeError("singular_values is not given")
    singular_values = np.asarray(singular_values)
    if not np.isrealobj(singular_values):
        raise TypeError("singular_values is not real")
    if (singular_values < 0).any():
        raise ValueError("negative singular value is given")
    singular_values = _broadcast_to(singular_values, (*shape[:-2], min(shape[-2:])))

    # The singular vectors are those of a Gaussian matrix.
    a = np.random.randn(*shape)
    if dtype.kind == "c":
        a = a + 1j * np.random.randn(*shape)
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.einsum("...ik,...k,...kj->...ij", u, singular_values, vh).astype(dtype)


_broadcast_to = np.broadcast_to
