"""`mx.sym.random`: symbols of random numbers; parameters are numbers or symbols, as those of `mx.nd.random`."""

from __future__ import annotations

import math
from typing import Any

from ..base import _Null, numeric_types
from ._compose import function_of
from .symbol import Symbol

__all__ = ["FUNCTIONS", "rand_zipfian"]


def _drawn(name: str, params: dict[str, Any], shape: Any, dtype: Any, kwargs: dict[str, Any]) -> Symbol:
    """Calls `_random_<name>` for parameters that are numbers, `_sample_<name>` for symbols."""
    first = next(iter(params.values()))
    if not isinstance(first, (Symbol, *numeric_types)):
        raise ValueError(f"{name}: distribution parameters must be either Symbol or numbers, but got {type(first)}")
    kind: Any = Symbol if isinstance(first, Symbol) else numeric_types
    for p in params.values():
        assert isinstance(p, kind), (
            f"{name}: distribution parameters must all have the same type, but got both {type(first)} and {type(p)}"
        )
    options = {k: v for k, v in (("shape", shape), ("dtype", dtype)) if v is not _Null and v is not None}
    if kind is Symbol:
        return function_of(f"_sample_{name}", f"_sample_{name}")(*params.values(), **options, **kwargs)
    return function_of(f"_random_{name}", f"_random_{name}")(**params, **options, **kwargs)


def uniform(low=0, high=1, shape=_Null, dtype=_Null, **kwargs):
    """Uniform numbers in [low, high)."""
    return _drawn("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc=0, scale=1, shape=_Null, dtype=_Null, **kwargs):
    """Numbers of the normal distribution with mean `loc` and standard deviation `scale`."""
    return _drawn("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def randn(*shape, **kwargs):
    """Normal numbers of a shape given by the arguments; keywords `loc`, `scale` and `dtype`."""
    loc, scale, dtype = kwargs.pop("loc", 0), kwargs.pop("scale", 1), kwargs.pop("dtype", _Null)
    return _drawn("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def poisson(lam=1, shape=_Null, dtype=_Null, **kwargs):
    """Numbers of the Poisson distribution with mean `lam`."""
    return _drawn("poisson", {"lam": lam}, shape, dtype, kwargs)


def exponential(scale=1, shape=_Null, dtype=_Null, **kwargs):
    """Numbers of the exponential distribution with mean `scale`."""
    return _drawn("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha=1, beta=1, shape=_Null, dtype=_Null, **kwargs):
    """Numbers of the gamma distribution with shape `alpha` and scale `beta`."""
    return _drawn("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(k=1, p=1, shape=_Null, dtype=_Null, **kwargs):
    """Numbers of the negative binomial distribution: failures before success `k`, of probability `p`."""
    return _drawn("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=_Null, dtype=_Null, **kwargs):
    """Numbers of the negative binomial distribution with mean `mu` and dispersion `alpha`."""
    return _drawn("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def multinomial(data, shape=_Null, get_prob=True, dtype="int32", **kwargs):
    """Classes drawn from probabilities along the last axis; with `get_prob` also their logarithms."""
    options = {} if shape is _Null else {"shape": shape}
    make = function_of("_sample_multinomial", "_sample_multinomial")
    return make(data, get_prob=get_prob, dtype=dtype, **options, **kwargs)


def shuffle(data, **kwargs):
    """The array with its first axis in a random order."""
    return function_of("_shuffle", "_shuffle")(data, **kwargs)


def randint(low, high, shape=_Null, dtype=_Null, **kwargs):
    """Integers of [low, high)."""
    return _drawn("randint", {"low": low, "high": high}, shape, dtype, kwargs)


FUNCTIONS = (
    uniform, normal, randn, poisson, exponential, gamma, negative_binomial, generalized_negative_binomial, multinomial,
    shuffle, randint,
)  # fmt: skip


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> list[Symbol]:
    """Classes drawn from nearly Zipf's distribution, and expected counts of the true and of the drawn classes; see
    `mx.nd.contrib.rand_zipfian`.
    """
    assert isinstance(true_classes, Symbol), f"rand_zipfian: unexpected type {type(true_classes)}"
    whole = math.log(range_max + 1)
    drawn = (uniform(0, whole, shape=(num_sampled,), dtype="float64").exp() - 1).astype("int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        k = classes.astype("float64")
        return ((k + 2.0) / (k + 1.0)).log() / whole * num_sampled

    return [drawn, expected(true_classes), expected(drawn)]
