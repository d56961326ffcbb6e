"""Initial values of parameters: every initializer is a function from a shape to a NumPy array. Random initializers draw
from a `numpy.random.RandomState` in nnabla's order, so that a seeded program starts with the same weights as in nnabla.
Without `rng` they draw from the `nnabla.random.prng` that exists when they are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compatgrad.core.random_numbers import PART as _PART
from compatgrad.core.random_numbers import draw_parts as _draw_parts
from compatgrad.nnabla import random as random
from compatgrad.nnabla._documents import documented

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

# The shared sections of the docstrings of the `calc_` functions.
_MAPS = """
Args:
    inmaps: the number of input channels or features.
    outmaps: the number of output channels or features.
    kernel: the size of the kernel along each spatial axis; (1, 1) for a dense layer.

Raises:
    TypeError: `kernel` is a single number.
    ZeroDivisionError: a number is 0.
"""

# called rather than .astype(), which the plain float that a draw of shape () returns does not have
random_float_type = np.float32


class BaseInitializer:
    """Base class of initializers of parameters. Subclasses define `__call__(shape)`, which returns a NumPy array.

    Example:
        >>> class Halves(I.BaseInitializer):
        ...     def __call__(self, shape):
        ...         return np.full(shape, 0.5)
        >>> nn.parameter.get_parameter_or_create("w", (2,), Halves()).d
        array([0.5, 0.5])

    Source: `nnabla.initializer.BaseInitializer` of nnabla 1.39.0.
    """

    def __call__(self, shape: _Shape) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} defines no __call__(shape)")


class _RandomInitializer(BaseInitializer):
    """Base class of random initializers: it stores the generator, and its repr shows the argument that `_shown`
    returns."""

    def __init__(self, rng: np.random.RandomState | None) -> None:
        if rng is None:
            rng = random.prng
        self.rng = rng

    def _shown(self) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown()})"


def _drawn(
    shape: _Shape, rng: np.random.RandomState, numbers: Sequence[float], draw: Callable[..., np.ndarray]
) -> np.ndarray:
    """The numbers of `draw(shape)` as float32, where `numbers` are its parameters. Many numbers are drawn part by part,
    unless a parameter is an array or the generator is of another class."""
    independent = type(rng) is np.random.RandomState and all(isinstance(n, (float, int, np.number)) for n in numbers)
    if math.prod(shape) <= _PART or not independent or random_float_type is not np.float32:
        return random_float_type(draw(shape))
    values = np.empty(shape, np.float32)
    _draw_parts(values, draw)
    return values


class NormalInitializer(_RandomInitializer):
    """Normal numbers around 0, float32.

    Args:
        sigma: their standard deviation.
        rng: the generator; None: that of `nnabla.random`.

    Example:
        >>> I.NormalInitializer(0.1, rng=np.random.RandomState(0))((2, 2))
        array([[0.17640524, 0.04001572],
               [0.0978738 , 0.22408932]], dtype=float32)

    Source: `nnabla.initializer.NormalInitializer` of nnabla 1.39.0.
    """

    def __init__(self, sigma: float = 1.0, rng: np.random.RandomState | None = None) -> None:
        super().__init__(rng)
        self.sigma = sigma

    def _shown(self) -> float:
        return self.sigma

    def __call__(self, shape: _Shape) -> np.ndarray:
        return _drawn(shape, self.rng, [self.sigma], lambda part: self.rng.randn(*part) * self.sigma)


class UniformInitializer(_RandomInitializer):
    """Uniform numbers, float32.

    Args:
        lim: the lower end, which is included, and the upper end, which is not.
        rng: the generator; None: that of `nnabla.random`.

    Example:
        >>> I.UniformInitializer((0, 1), rng=np.random.RandomState(0))((2, 2))
        array([[0.5488135 , 0.71518934],
               [0.60276335, 0.5448832 ]], dtype=float32)

    Source: `nnabla.initializer.UniformInitializer` of nnabla 1.39.0.
    """

    def __init__(self, lim: tuple[float, float] = (-1, 1), rng: np.random.RandomState | None = None) -> None:
        super().__init__(rng)
        self.lim = lim

    def _shown(self) -> tuple[float, float]:
        return self.lim

    def __call__(self, shape: _Shape) -> np.ndarray:
        low, high = self.lim
        return _drawn(shape, self.rng, [low, high], lambda part: self.rng.uniform(low, high, size=part))


class UniformIntInitializer(_RandomInitializer):
    """Uniform integers, int64.

    Args:
        lim: the lower end, which is included, and the upper end, which is not.
        rng: the generator; None: that of `nnabla.random`.

    Example:
        >>> I.UniformIntInitializer((0, 10), rng=np.random.RandomState(0))((2, 2))
        array([[5, 0],
               [3, 3]])

    Source: `nnabla.initializer.UniformIntInitializer` of nnabla 1.39.0.
    """

    def __init__(self, lim: tuple[int, int] = (0, 10), rng: np.random.RandomState | None = None) -> None:
        super().__init__(rng)
        self.lim = lim

    def _shown(self) -> tuple[int, int]:
        return self.lim

    def __call__(self, shape: _Shape) -> np.ndarray:
        first, end = self.lim
        return self.rng.randint(first, end, size=shape)


class RangeInitializer(BaseInitializer):
    """start, start + step, ... along the last axis, repeated along the others.

    Args:
        start: the first number.
        step: the distance.

    Example:
        >>> I.RangeInitializer(1, 2)((2, 3))
        array([[1, 3, 5],
               [1, 3, 5]])

    Source: `nnabla.initializer.RangeInitializer` of nnabla 1.39.0.
    """

    def __init__(self, start: float = 0, step: float = 1) -> None:
        self.start = start
        self.step = step

    def __call__(self, shape: _Shape) -> np.ndarray:
        row = self.start + np.arange(shape[-1]) * self.step
        return np.broadcast_to(row, tuple(shape))


class ConstantInitializer(BaseInitializer):
    """An array of one number, float32.

    Args:
        value: the number.

    Example:
        >>> I.ConstantInitializer(0.5)((2, 2))
        array([[0.5, 0.5],
               [0.5, 0.5]], dtype=float32)

    Source: `nnabla.initializer.ConstantInitializer` of nnabla 1.39.0.
    """

    def __init__(self, value: float = 0) -> None:
        self.value = value

    def __call__(self, shape: _Shape) -> np.ndarray:
        return np.full(tuple(shape), self.value, dtype=random_float_type)


class OrthogonalInitializer(_RandomInitializer):
    """Orthogonal rows, or columns where there are fewer of them, float32 (Saxe et al., 2014).

    The array is treated as a matrix of shape[0] rows.

    Args:
        gain: the norm of the rows or columns.
        rng: the generator; None: that of `nnabla.random`.

    Example:
        >>> w = I.OrthogonalInitializer(2.0)((2, 3))
        >>> np.allclose(w @ w.T, 4 * np.eye(2), atol=1e-5)
        True

    Source: `nnabla.initializer.OrthogonalInitializer` of nnabla 1.39.0.
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
    """The norms of weights, float32 (w.shape[dim],), with which weight normalization starts as the identity. The shape
    argument of a call is ignored.

    Args:
        w: the weights, a Variable.
        dim: the axis for each index of which there is a norm.
        eps: a number that is added to the squared norms.

    Example:
        >>> w = nn.Variable.from_numpy_array(np.array([[3.0, 4.0], [0.0, 2.0]]))
        >>> I.WeightNormalizationScaleInitializer(w)((2,))
        array([5., 2.], dtype=float32)

    Source: `nnabla.initializer.WeightNormalizationScaleInitializer` of nnabla 1.39.0.
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


def _spread(gain: float, maps: int, kernel: _Shape) -> float:
    if not math.prod(kernel) * maps:
        raise ValueError(f"weights without inputs or outputs: {maps} maps and a kernel of shape {tuple(kernel)}")
    return np.sqrt(gain / (math.prod(kernel) * maps))


@documented(_MAPS, source="nnabla.initializer", all_have=())
def calc_normal_std_he_forward(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> float:
    """sqrt(2 / (inmaps * size of the kernel)), which keeps the variance of activations after a ReLU (He et al., 2015).

    Returns:
        The standard deviation.

    Example:
        >>> sigma = I.calc_normal_std_he_forward(8, 16, kernel=(3, 3))
        >>> float(sigma)
        0.16666666666666666
    """
    return _spread(2.0, inmaps, kernel)


@documented(_MAPS, source="nnabla.initializer", all_have=())
def calc_normal_std_he_backward(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> float:
    """sqrt(2 / (outmaps * size of the kernel)), which keeps the variance of gradients after a ReLU (He et al., 2015).

    Returns:
        The standard deviation.

    Example:
        >>> float(I.calc_normal_std_he_backward(8, 16, kernel=(3, 3)))
        0.11785113019775792
    """
    return _spread(2.0, outmaps, kernel)


@documented(_MAPS, source="nnabla.initializer", all_have=())
def calc_normal_std_glorot(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> float:
    """sqrt(2 / ((inmaps + outmaps) * size of the kernel)) (Glorot and Bengio, 2010).

    Returns:
        The standard deviation.

    Example:
        >>> float(I.calc_normal_std_glorot(8, 16, kernel=(3, 3)))
        0.09622504486493763
    """
    return _spread(2.0, inmaps + outmaps, kernel)


@documented(_MAPS, source="nnabla.initializer", all_have=())
def calc_uniform_lim_glorot(inmaps: int, outmaps: int, kernel: _Shape = (1, 1)) -> tuple[float, float]:
    """The limits of the uniform distribution whose standard deviation is `calc_normal_std_glorot` (Glorot and Bengio,
    2010).

    Returns:
        The limits (-d, d).

    Example:
        >>> low, high = I.calc_uniform_lim_glorot(2, 4)
        >>> float(low), float(high)
        (-1.0, 1.0)
    """
    limit = _spread(6.0, inmaps + outmaps, kernel)
    return -limit, limit
