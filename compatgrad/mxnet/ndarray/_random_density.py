"""Densities of random numbers: `random_pdf_normal(sample, mu, sigma)` and the others, differentiable.

The parameters are arrays of one shape, an element (for Dirichlet: a row) for each distribution; `sample` has that shape
and, after it, the numbers that are looked up in each. `is_log` gives logarithms. Counts get no gradient.
"""

from __future__ import annotations

import math
from typing import Any

from ..base import MXNetError
from ._arguments import public_names, require_shape
from ._operator import op, operator
from .ndarray import NDArray


def _beside(who: str, sample: NDArray, *params: NDArray, event: int = 0) -> list[NDArray]:
    """The parameters with axes of length 1 where only the sample has axes; `event`: axes of one drawn value."""
    first = params[0]
    for p in params[1:]:
        require_shape(who, "each parameter", p.shape, first.shape)
    batch = first.shape[: first.ndim - event]
    extra = sample.ndim - event - len(batch)
    if extra < 0 or sample.shape[: len(batch)] != batch:
        raise MXNetError(f"{who}: a sample of shape {sample.shape} does not fit parameters of shape {first.shape}")
    shape = (*batch, *(1,) * extra, *first.shape[first.ndim - event :])
    return [op.reshape(p, shape=shape) for p in params]


def _density(log_density: NDArray, is_log: Any) -> NDArray:
    return log_density if is_log else op.exp(log_density)


def _counts(k: NDArray, p: NDArray, x: NDArray) -> NDArray:
    """Logarithms of the probabilities of x failures before k successes of probability p."""
    ways = op.lgamma(x + k) - op.lgamma(x + 1) - op.lgamma(k)
    return ways + k * op.log(p) + x * op.log(1 - p)


@operator("sample, low, high", aliases=("_random_pdf_uniform",))
def random_pdf_uniform(sample, low, high, is_log=False):
    """The density 1 / (high - low), wherever the sample is.

    Example:
        >>> nd.random_pdf_uniform(nd.array([[1.0, 3.0]]), nd.array([0.0]), nd.array([2.0])).asnumpy()
        array([[0.5, 0.5]], dtype=float32)
    """
    low, high = _beside("random_pdf_uniform", sample, low, high)
    return _density(op.stop_gradient(sample) * 0 - op.log(high - low), is_log)


@operator("sample, mu, sigma", aliases=("_random_pdf_normal",))
def random_pdf_normal(sample, mu, sigma, is_log=False):
    """The density of normal numbers with mean `mu` and standard deviation `sigma`.

    Args:
        sigma (NDArray): standard deviations, of the shape of `mu`.

    Example:
        >>> nd.random_pdf_normal(nd.array([[0.0]]), nd.array([0.0]), nd.array([1.0])).asnumpy().round(3)
        array([[0.399]], dtype=float32)
    """
    mu, sigma = _beside("random_pdf_normal", sample, mu, sigma)
    y = op.square((sample - mu) / sigma) * -0.5 - op.log(sigma) - 0.5 * math.log(2 * math.pi)
    return _density(y, is_log)


@operator("sample, alpha, beta", aliases=("_random_pdf_gamma",))
def random_pdf_gamma(sample, alpha, beta, is_log=False):
    """The density of the gamma distribution with shape `alpha` and rate `beta`.

    Args:
        alpha (NDArray): shapes, a shape with which that of `sample` begins.
        beta (NDArray): rates, of the shape of `alpha`.

    Example:
        >>> nd.random_pdf_gamma(nd.array([[1.0]]), nd.array([1.0]), nd.array([1.0])).asnumpy().round(3)
        array([[0.368]], dtype=float32)
    """
    alpha, beta = _beside("random_pdf_gamma", sample, alpha, beta)
    y = alpha * op.log(beta) + (alpha - 1) * op.log(sample) - beta * sample - op.lgamma(alpha)
    return _density(y, is_log)


@operator("sample, lam", aliases=("_random_pdf_exponential",))
def random_pdf_exponential(sample, lam, is_log=False):
    """The density of the exponential distribution with rate `lam`.

    Example:
        >>> nd.random_pdf_exponential(nd.array([[1.0]]), nd.array([1.0])).asnumpy().round(3)
        array([[0.368]], dtype=float32)
    """
    (lam,) = _beside("random_pdf_exponential", sample, lam)
    return _density(op.log(lam) - lam * sample, is_log)


@operator("sample, lam", aliases=("_random_pdf_poisson",))
def random_pdf_poisson(sample, lam, is_log=False):
    """The probability of counts of the Poisson distribution with mean `lam`.

    Example:
        >>> nd.random_pdf_poisson(nd.array([[0.0, 1.0]]), nd.array([1.0])).asnumpy().round(3)
        array([[0.368, 0.368]], dtype=float32)
    """
    (lam,) = _beside("random_pdf_poisson", sample, lam)
    x = op.stop_gradient(sample)
    return _density(x * op.log(lam) - op.lgamma(x + 1) - lam, is_log)


@operator("sample, k, p", aliases=("_random_pdf_negative_binomial",))
def random_pdf_negative_binomial(sample, k, p, is_log=False):
    """The probability of numbers of failures before `k` successes, each of probability `p`.

    Args:
        k (NDArray): numbers of failures, a shape with which that of `sample` begins.
        p (NDArray): probabilities of a failure, of the shape of `k`.

    Example:
        >>> nd.random_pdf_negative_binomial(nd.array([[0.0, 1.0]]), nd.array([1.0]), nd.array([0.5])).asnumpy().round(3)
        array([[0.5 , 0.25]], dtype=float32)
    """
    k, p = _beside("random_pdf_negative_binomial", sample, k, p)
    return _density(_counts(k, p, op.stop_gradient(sample)), is_log)


@operator("sample, mu, alpha", aliases=("_random_pdf_generalized_negative_binomial",))
def random_pdf_generalized_negative_binomial(sample, mu, alpha, is_log=False):
    """The probability of counts with mean `mu` and dispersion `alpha`.

    Args:
        alpha (NDArray): dispersions, of the shape of `mu`.

    Example:
        >>> pdf = nd.random_pdf_generalized_negative_binomial
        >>> pdf(nd.array([[0.0, 1.0]]), nd.array([1.0]), nd.array([1.0])).asnumpy().round(3)
        array([[0.5 , 0.25]], dtype=float32)
    """
    mu, alpha = _beside("random_pdf_generalized_negative_binomial", sample, mu, alpha)
    return _density(_counts(1 / alpha, 1 / (mu * alpha + 1), op.stop_gradient(sample)), is_log)


@operator("sample, alpha", aliases=("_random_pdf_dirichlet",))
def random_pdf_dirichlet(sample, alpha, is_log=False):
    """The density of the Dirichlet distribution; its values are the rows along the last axis.

    Args:
        sample: points of the simplex in the last axis.
        alpha (NDArray): concentrations in the last axis.

    Example:
        >>> nd.random_pdf_dirichlet(nd.array([[0.5, 0.5]]), nd.array([2.0, 2.0])).asnumpy().round(3)
        array([1.5], dtype=float32)
    """
    (alpha,) = _beside("random_pdf_dirichlet", sample, alpha, event=1)
    last = (alpha.ndim - 1,)
    powers = op.sum((alpha - 1) * op.log(sample), axis=last)
    y = powers + op.lgamma(op.sum(alpha, axis=last)) - op.sum(op.lgamma(alpha), axis=last)
    return _density(y, is_log)


__all__ = public_names(globals())
