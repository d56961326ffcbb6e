"""Initial values of parameters: every initializer is a callable from a shape to a numpy array.

The random ones draw from `numpy.random.RandomState` in the original's order, so that a seeded program starts
from the same weights. Without `rng` they draw from `nnabla.random.prng`, the one that is there when they are
made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compatgrad.nnabla import random as random

_Shape = Sequence[int]

__all__ = [
    "BaseInitializer",
    "ConstantInitializer",
    "NormalInitializer",
    "OrthogonalInitializer",
    "RangeInitializer",
    "UniformInitializer",
    "UniformIntInitializer",
    "WeightNormalizationScaleInitializer",
    "calc_normal_std_glorot",
    "calc_normal_std_he_backward",
    "calc_normal_std_he_forward",
    "calc_uniform_lim_glorot",
    "random_float_type",
]

# applied by a call, since astype() is missing from the plain float that a draw of shape () gives
random_float_type = np.float32


class BaseInitializer:
    """What a parameter starts from; subclasses define `__call__(shape)`, which returns a numpy array."""

    def __call__(self, shape: _Shape) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} defines no __call__(shape)")


class _RandomInitializer(BaseInitializer):
    """Holds the generator and shows the one argument that tells two of a kind apart."""

    def __init__(self, rng: np.random.RandomState | None) -> None:
        if rng is None:
            rng = random.prng
        self.rng = rng

    def _shown(self) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown()})"


class NormalInitializer(_RandomInitializer):
    """float32 draws from a normal distribution around 0 of standard deviation `sigma`."""

    def __init__(self, sigma: float = 1.0, rng: np.random.RandomState | None = None) -> None:
        super().__init__(rng)
        self.sigma = sigma

    def _shown(self) -> float:
        return self.sigma

    def __call__(self, shape: _Shape) -> np.ndarray:
        return random_float_type(self.rng.randn(*shape) * self.sigma)


class UniformInitializer(_RandomInitializer):
    """float32 draws from the uniform distribution over `lim`, a pair (low, high)."""

    def __init__(self, lim: tuple[float, float] = (-1, 1), rng: np.random.RandomState | None = None) -> None:
        super().__init__(rng)
        self.lim = lim

    def _shown(self) -> tuple[float, float]:
        return self.lim

    def __call__(self, shape: _Shape) -> np.ndarray:
        low, high = self.lim
        return random_float_type(self.rng.uniform(low, high, size=shape))


class UniformIntInitializer(_RandomInitializer):
    """int64 draws from the integers of `lim`, a pair (first, one past the last)."""

    def __init__(self, lim: tuple[int, int] = (0, 10), rng: np.random.RandomState | None = None) -> None:
        super().__init__(rng)
        self.lim = lim

    def _shown(self) -> tuple[int, int]:
        return self.lim

    def __call__(self, shape: _Shape) -> np.ndarray:
        first, end = self.lim
        return self.rng.randint(first, end, size=shape)


class RangeInitializer(BaseInitializer):
    """``start, start + step, ...`` along the last axis, repeated along the others."""

    def __init__(self, start: float = 0, step: float = 1) -> None:
        self.start = start
        self.step = step

    def __call__(self, shape: _Shape) -> np.ndarray:
        row = self.start + np.arange(shape[-1]) * self.step
        return np.broadcast_to(row, tuple(shape))


class ConstantInitializer(BaseInitializer):
    """float32 copies of `value`."""

    def __init__(self, value: float = 0) -> None:
        self.value = value

    def __call__(self, shape: _Shape) -> np.ndarray:
        return np.full(tuple(shape), self.value, dtype=random_float_type)


class OrthogonalInitializer(_RandomInitializer):
    """float32 rows (or columns, where there are fewer of them) that are orthogonal and of length `gain`.

    The array is taken as a matrix of ``shape[0]`` rows. Saxe et al. 2014, https://arxiv.org/abs/1312.6120.
    """

    def __init__(self, gain: float = 1.0, rng: np.random.RandomState | None = None) -> None:
        super().__init__(rng)
        self.gain = gain

    def _shown(self) -> float:
        return self.gain

    def __call__(self, shape: _Shape) -> np.ndarray:
        matrix = (shape[0], int(np.prod(shape[1:])))
        left, _, right = np.linalg.svd(self.rng.normal(0.0, 1.0, matrix), full_matrices=False)
        basis = left if left.shape == matrix else right
        return random_float_type(basis.reshape(shape) * self.gain)


class WeightNormalizationScaleInitializer(BaseInitializer):
    """The lengths of the kernels of `w` along its axis `dim`: weight normalization then starts as the
    identity.

    `w` is a Variable; the result is float32 of shape ``(w.shape[dim],)`` whatever shape is asked for.
    """

    def __init__(self, w: Any, dim: int = 0, eps: float = 1e-12) -> None:
        self.w = w.get_unlinked_variable()
        self.dim = dim
        self.eps = eps

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, eps={self.eps})"

    def __call__(self, shape: _Shape) -> np.ndarray:
        kept = self.dim % self.w.ndim
        axes = tuple(axis for axis in range(self.w.ndim) if axis != kept)
        return random_float_type(np.sqrt(np.sum(self.w.d**2, axis=axes) + self.eps))


def calc_normal_std_he_forward(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> float:
    """sqrt(2 / (kernel size * inmaps)), which keeps the variance of the activations behind a ReLU.

    He et al. 2015, https://arxiv.org/abs/1502.01852. `kernel` is the spatial shape, (1, 1) for a dense layer.
    """
    return np.sqrt(2.0 / (math.prod(kernel) * inmaps))


def calc_normal_std_he_backward(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> float:
    """sqrt(2 / (kernel size * outmaps)), which keeps the variance of the gradients behind a ReLU.

    He et al. 2015, https://arxiv.org/abs/1502.01852. `kernel` is the spatial shape, (1, 1) for a dense layer.
    """
    return np.sqrt(2.0 / (math.prod(kernel) * outmaps))


def calc_normal_std_glorot(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> float:
    """sqrt(2 / (kernel size * (inmaps + outmaps))). Glorot and Bengio, AISTATS 2010.

    `kernel` is the spatial shape, (1, 1) for a dense layer.
    """
    return np.sqrt(2.0 / (math.prod(kernel) * (inmaps + outmaps)))


def calc_uniform_lim_glorot(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> tuple[float, float]:
    """The limits (-d, d) of the uniform distribution with Glorot's standard deviation. AISTATS 2010.

    `kernel` is the spatial shape, (1, 1) for a dense layer.
    """
    limit = np.sqrt(6.0 / (math.prod(kernel) * (inmaps + outmaps)))
    return -limit, limit
