"""The canonical polyadic decomposition: a tensor as a sum of outer products of vectors."""

from __future__ import annotations

from functools import reduce

import numpy as np

__all__ = ["ALS"]

_LETTERS = "abcdefghijklmnopqrstuvw"


class ALS:
    """Finds the canonical polyadic decomposition by alternating least squares, one axis at a time.

    Example:
        >>> from compatgrad.nnabla.utils.factorization.cpd import ALS
        >>> x = np.einsum("i,j,k->ijk", [1.0, 2.0], [1.0, 3.0], [1.0, 1.0, 2.0])
        >>> factors, weights = ALS().solve(x, rank=1)
        >>> [a.shape for a in factors], np.allclose(np.einsum("r,ir,jr,kr->ijk", weights, *factors), x, atol=1e-3)
        ([(2, 1), (2, 1), (3, 1)], True)

    Source: `nnabla.utils.factorization.cpd.ALS` of nnabla 1.39.0.
    """

    def solve(
        self,
        X: np.ndarray,
        rank: int,
        max_iter: int = 500,
        stopping_criterion: float = 1e-5,
        lambda_reg: float = 0.0,
        dtype: np.dtype | type = np.float32,
        rng: np.random.RandomState | None = None,
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Factors A_n of shape (X.shape[n], rank) and weights (rank,) such that ``sum_r weights[r] *
        outer(A_n[:, r])`` approximates `X`.

        It stops after `max_iter` rounds, or when a round increases the explained fraction of the squared norm by less
        than `stopping_criterion` (never, if that is negative). `lambda_reg` is added to the diagonal of the normal
        equations.
        The initial factors are drawn from `rng`, by default a generator with a fixed seed, in the dtype `dtype`.
        """
        rng = np.random.RandomState(313) if rng is None else rng
        axes = range(X.ndim)
        factors: list[np.ndarray] = [np.empty(0)]
        factors += [np.array(rng.rand(size, rank), dtype=dtype) for size in X.shape[1:]]
        weights = np.ones(rank)
        explained = 0.0
        for round_ in range(max_iter):
            for axis in axes:
                others = [n for n in axes if n != axis]
                gram = reduce(np.multiply, [factors[n].T @ factors[n] for n in others]) + np.eye(rank) * lambda_reg
                found = self._contract(X, factors, axis)
                found = found @ np.linalg.pinv(gram, rcond=rank * np.finfo(gram.dtype).eps)
                if round_ == 0:
                    weights = np.sqrt((found**2).sum(axis=0))
                else:
                    weights = np.maximum(found.max(axis=0), 1)
                factors[axis] = found / weights
            if stopping_criterion < 0:
                continue
            before, explained = explained, 1.0 - self._residual(X, factors, weights)
            if round_ and abs(before - explained) < stopping_criterion:
                break
        return factors, weights

    @staticmethod
    def _contract(X: np.ndarray, factors: list[np.ndarray], axis: int) -> np.ndarray:
        names = _LETTERS[: X.ndim]
        terms = [names] + [names[n] + "z" for n in range(X.ndim) if n != axis]
        rest = [factors[n] for n in range(X.ndim) if n != axis]
        return np.einsum(",".join(terms) + "->" + names[axis] + "z", X.astype(np.float64), *rest, optimize=True)

    @staticmethod
    def _residual(X: np.ndarray, factors: list[np.ndarray], weights: np.ndarray) -> float:
        names = _LETTERS[: X.ndim]
        terms = ",".join(["z"] + [name + "z" for name in names])
        near = np.einsum(f"{terms}->{names}", weights, *factors, optimize=True)
        total = np.sum(X**2)
        return float((total + np.sum(near**2) - 2 * np.sum(X * near)) / total)
