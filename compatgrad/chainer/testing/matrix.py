"""Random matrices of known condition."""

import numpy as np


def generate_matrix(shape, dtype=float, *, singular_values=None):
    """Draw a random matrix, or a stack of them, with the given singular values.

    `shape`: ``(..., M, N)``. `dtype`: real or complex floating. `singular_values`: non-negative,
    broadcastable to ``(..., min(M, N))``. Raises ValueError (shape, values) or TypeError (kinds of numbers).
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
