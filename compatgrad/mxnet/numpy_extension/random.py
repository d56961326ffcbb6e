"""`mx.npx.random`: the seed, and distributions that NumPy does not have under these names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..ndarray._distributions import draw
from ..ndarray._random_operators import sample_multinomial
from ..ndarray.ndarray import torch_dtype
from ..numpy import ndarray
from ..numpy import random as _random
from ..numpy._array import constant, finish
from ..numpy._docs import documented

if TYPE_CHECKING:
    from .._typing import Dtype, Shape
    from ..context import Context

__all__ = ["bernoulli", "categorical", "normal_n", "seed", "uniform_n"]


@documented
def seed(seed: int, ctx: Context | str = "all") -> None:
    """Seeds the random numbers of this module and of `mx.random`.

    Args:
        seed: an integer.
        ctx: the device whose draws are meant; "all" is all of them.

    Raises:
        ValueError: `seed` is no integer.

    Example:
        >>> mx.npx.random.seed(7)
        >>> x = mx.np.random.rand(3)
        >>> mx.npx.random.seed(7)
        >>> bool((mx.np.random.rand(3) == x).all())
        True
    """
    _random.seed(seed, ctx)


@documented
def bernoulli(
    prob: float | ndarray | None = None, logit: float | ndarray | None = None, size: Shape | None = None,
    dtype: Dtype | None = None, ctx: Context | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Draws ones and zeros.

    Args:
        prob: the probability of a one, from 0 to 1, a number or an ndarray.
        logit: instead of `prob`, log(prob / (1 - prob)), a number or an ndarray.
        size: the shape of the result; None is that of `prob` or `logit`.

    Returns:
        ndarray, without a gradient.

    Raises:
        ValueError: `prob` is out of range, or not one of both is given.

    Example:
        >>> mx.npx.random.bernoulli(prob=1.0, size=(2, 3))
        array([[1., 1., 1.],
               [1., 1., 1.]])
    """
    if (prob is None) == (logit is None):
        raise ValueError("bernoulli: either prob or logit must be given, and not both")
    p = _random._values(prob if logit is None else logit)
    if logit is None and bool(((torch.as_tensor(p) < 0) | (torch.as_tensor(p) > 1)).any()):
        raise ValueError(f"bernoulli: prob must be between 0 and 1, got {prob}")
    p = p if logit is None else torch.as_tensor(p, dtype=torch.float32).sigmoid()
    shape = _random._shape(size) if size is not None else tuple(p.shape) if isinstance(p, torch.Tensor) else ()
    device = p.device if isinstance(p, torch.Tensor) else _random.uniform(size=(), ctx=ctx).tensor.device
    u = draw("uniform", (0.0, 1.0), shape, torch.float32, device)
    return finish(constant((u < p).to(torch_dtype(dtype))), out)


@documented
def categorical(prob: ndarray, shape: Shape | None = None) -> ndarray:
    """Draws numbers of classes from probabilities along the last axis.

    Args:
        prob: ndarray of shape (..., classes), whose last axis sums to 1.
        shape: how many draws for each of them, an integer or a sequence; None is one.

    Returns:
        ndarray, int64, of shape (..., *shape), without a gradient.

    Raises:
        AssertionError: `prob` is no array.

    Example:
        >>> mx.npx.random.categorical(mx.np.array([[0.0, 1.0], [1.0, 0.0]]))
        array([1, 0], dtype=int64)
    """
    t = sample_multinomial(prob, shape=() if shape is None else shape, dtype="int64").tensor
    return ndarray(t.reshape(prob.shape[:-1] + (() if shape is None else _random._shape(shape))))


def _batched(function: Any, params: tuple[Any, Any], batch_shape: Any, dtype: Any, ctx: Any) -> Any:
    batch = () if batch_shape is None else _random._shape(batch_shape)
    return function(*params, batch + _random._shape(None, *params), dtype, ctx)


@documented
def uniform_n(
    low: float | ndarray = 0.0,
    high: float | ndarray = 1.0,
    batch_shape: Shape | None = None,
    dtype: Dtype | None = None,
    ctx: Context | None = None,
) -> ndarray:
    """Draws from all numbers between two ends, each as often, several for each element of the parameters.

    Args:
        low: the lower end, a number or an ndarray.
        high: the upper end, likewise.
        batch_shape: how many for each element, an integer or a sequence; None is one.
        dtype: float16, float32 or float64; None is float32.

    Returns:
        ndarray, whose shape is `batch_shape` and then that of the parameters.

    Raises:
        mxnet.base.MXNetError: `dtype` is no floating-point one.

    Example:
        >>> mx.npx.random.uniform_n(mx.np.zeros(2), 1.0, batch_shape=(3,)).shape
        (3, 2)
    """
    return _batched(_random.uniform, (low, high), batch_shape, dtype, ctx)


@documented
def normal_n(
    loc: float | ndarray = 0.0,
    scale: float | ndarray = 1.0,
    batch_shape: Shape | None = None,
    dtype: Dtype | None = None,
    ctx: Context | None = None,
) -> ndarray:
    """Draws from normal distributions, several for each element of the parameters.

    Args:
        loc: the mean, a number or an ndarray.
        scale: the standard deviation, a positive number or an ndarray.
        batch_shape: how many for each element, an integer or a sequence; None is one.
        dtype: float16, float32 or float64; None is float32.

    Returns:
        ndarray, whose shape is `batch_shape` and then that of the parameters.

    Raises:
        ValueError: `scale` is not positive; where the next result is waited for.
        mxnet.base.MXNetError: `dtype` is no floating-point one.

    Example:
        >>> mx.npx.random.normal_n(mx.np.zeros(2), 1.0, batch_shape=(3,)).shape
        (3, 2)
    """
    return _batched(_random.normal, (loc, scale), batch_shape, dtype, ctx)
