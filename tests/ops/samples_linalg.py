"""Samples of triangular systems, eigenvalues and roots of symmetric matrices, constants."""

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


def symmetric(a):
    return (a + np.swapaxes(a, -1, -2)) / 2


def inverse_root(x):
    values, vectors = np.linalg.eigh(symmetric(x))
    return vectors / np.sqrt(values)[..., None, :] @ np.swapaxes(vectors, -1, -2)


def sylvester_symmetric(a, b):
    values, vectors = np.linalg.eigh(symmetric(a))
    turned = np.swapaxes(vectors, -1, -2)
    return vectors @ (turned @ b @ vectors / (values[..., None] + values[..., None, :])) @ turned


class Definite(A):
    """Positive definite matrices, not quite symmetric."""

    def draw(self, rng):
        return super().draw(rng) + 3 * np.eye(self.shape[-1])


SYMMETRIC = np.array([[[2, 0.5, 0.1], [0.5, 1, -0.3], [0.1, -0.3, 3]], [[1, 0, 2], [0, 4, 1], [2, 1, -1.0]]])
SAMPLES = [s for family in (
    *(sample("solve_triangular", solve_triangular, A(2, 3, 3, low=1, high=2), A(2, 4, 3) if right else A(2, 3, 4),
             lower=lower, transpose=transpose, right=right, **WIDE)
      for lower in (True, False) for transpose in (True, False) for right in (True, False)),
    sample("eigen_symmetric", eigen_symmetric, SYMMETRIC),
    *(sample("inverse_root", inverse_root, Definite(*shape), **WIDE) for shape in ((3, 3), (2, 4, 4), (0, 3, 3))),
    *(sample("sylvester_symmetric", sylvester_symmetric, Definite(*shape), A(*shape), **WIDE)
      for shape in ((3, 3), (2, 4, 4))),
    sample("constant_of", lambda x, y: y, A(2, 3), np.array([4, 2]), differentiable=()),
) for s in family]  # fmt: skip
