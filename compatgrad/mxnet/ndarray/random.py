"""Random numbers as NDArrays: `mx.nd.random.uniform` and its like.

Parameters are numbers, or NDArrays of one shape: then `shape` numbers are drawn for each of their elements.
"""

from __future__ import annotations

from typing import Any

from ..base import _Null, numeric_types
from ._operator import operators
from ._random_operators import context_of_argument, given, likes, sample_multinomial, shuffle
from .ndarray import NDArray

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]
globals().update(likes)


def _draw(name: str, params: list[Any], shape: Any, dtype: Any, ctx: Any, out: Any, kwargs: dict[str, Any]) -> NDArray:
    """Numbers go to the operator random_*, NDArrays to sample_*; AssertionError where both are given."""
    first = params[0]
    if not isinstance(first, (NDArray, *numeric_types)):
        raise ValueError(f"{name}: distribution parameters must be either NDArray or numbers, but got {type(first)}")
    kind: Any = NDArray if isinstance(first, NDArray) else numeric_types
    for p in params[1:]:
        assert isinstance(p, kind), (
            f"{name}: distribution parameters must all have the same type, but got both {type(first)} and {type(p)}"
        )
    if kind is NDArray:
        if f"sample_{name}" not in operators:
            raise TypeError(f"{name}: distribution parameters must be numbers, got NDArrays")
        return operators[f"sample_{name}"](*params, shape=shape, dtype=dtype, out=out, **kwargs)
    if given(shape) is None and out is None:
        shape = 1
    return operators[f"random_{name}"](
        *params, shape=shape, dtype=dtype, ctx=context_of_argument(ctx), out=out, **kwargs
    )


def uniform(low=0, high=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Numbers of [low, high), evenly distributed; float32 unless `dtype` is another floating type."""
    return _draw("uniform", [low, high], shape, dtype, ctx, out, kwargs)


def normal(loc=0, scale=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Numbers of the normal distribution with mean `loc` and standard deviation `scale` > 0."""
    return _draw("normal", [loc, scale], shape, dtype, ctx, out, kwargs)


def randn(*shape, **kwargs):
    """Normal numbers of a shape given by the arguments; keywords `loc`, `scale`, `dtype`, `ctx` and `out`."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    for n, value in (("loc", loc), ("scale", scale)):
        assert isinstance(value, (int, float, NDArray)), f"randn: {n} must be a number or an NDArray, got {type(value)}"
    dtype, ctx, out = kwargs.pop("dtype", _Null), kwargs.pop("ctx", None), kwargs.pop("out", None)
    return _draw("normal", [loc, scale], shape, dtype, ctx, out, kwargs)


def poisson(lam=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Numbers of the Poisson distribution with mean `lam` >= 0, of a floating type."""
    return _draw("poisson", [lam], shape, dtype, ctx, out, kwargs)


def exponential(scale=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Numbers of the exponential distribution with mean `scale` > 0."""
    if isinstance(scale, numeric_types) and scale == 0:
        raise ZeroDivisionError("exponential: scale must be positive, got 0")
    return _draw("exponential", [1.0 / scale], shape, dtype, ctx, out, kwargs)


def gamma(alpha=1, beta=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Numbers of the gamma distribution with shape `alpha` > 0 and scale `beta` > 0."""
    return _draw("gamma", [alpha, beta], shape, dtype, ctx, out, kwargs)


def negative_binomial(k=1, p=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Numbers of the negative binomial distribution: failures before success `k`, of probability `p`."""
    return _draw("negative_binomial", [k, p], shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Numbers of the negative binomial distribution with mean `mu` and dispersion `alpha`, which may be 0."""
    return _draw("generalized_negative_binomial", [mu, alpha], shape, dtype, ctx, out, kwargs)


def multinomial(data, shape=_Null, get_prob=False, out=None, dtype="int32", **kwargs):
    """Classes drawn from probabilities along the last axis of `data`; see the operator `sample_multinomial`."""
    return sample_multinomial(data, shape, get_prob, dtype=dtype, out=out, **kwargs)


def randint(low, high, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs):
    """Integers of [low, high), int32 unless `dtype` is 'int64'."""
    return _draw("randint", [low, high], shape, dtype, ctx, out, kwargs)
