"""Samples of triangular systems, eigenvalues of symmetric matrices, constants."""

import numpy as np

from tests.ops.harness import Floats as A
from tests.ops.harness import sample

WIDE = {"dtypes": ("float32", "float64"), "tolerance": 10}


def solve_triangular(a, b, lower, transpose, right):
    m = np.tril(a) if lower else np.triu(a)
    m = np.swapaxes(m, -1, -2) if transpose else m
    return b @ np.linalg.inv(m) if right else np.linalg.inv(m) @ b


def eigen_symmetric(a):
    values, vectors = np.linalg.eigh(a)
    u = np.swapaxes(vectors, -1, -2)
    largest = np.take_along_axis(u, np.abs(u).argmax(-1)[..., None], -1)
    return u * np.sign(largest), values


SYMMETRIC = np.array([[[2, 0.5, 0.1], [0.5, 1, -0.3], [0.1, -0.3, 3]], [[1, 0, 2], [0, 4, 1], [2, 1, -1.0]]])
SAMPLES = [s for family in (
    *(sample("solve_triangular", solve_triangular, A(2, 3, 3, low=1, high=2), A(2, 4, 3) if right else A(2, 3, 4),
             lower=lower, transpose=transpose, right=right, **WIDE)
      for lower in (True, False) for transpose in (True, False) for right in (True, False)),
    sample("eigen_symmetric", eigen_symmetric, SYMMETRIC),
    sample("constant_of", lambda x, y: y, A(2, 3), np.array([4, 2]), differentiable=()),
) for s in family]  # fmt: skip
