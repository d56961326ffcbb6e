"""Losses of variational autoencoders."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.softplus import softplus
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.exponential import exp
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.variable import as_variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _check(reduce):
    _composed.check_reduce(reduce, "sum", "mean", "no")


def _reduced(loss, reduce):
    return _sum(loss) if reduce == "sum" else average(loss) if reduce == "mean" else loss


def gaussian_kl_divergence(mean: VariableOrArray, ln_var: VariableOrArray, reduce: str = "sum") -> Variable:
    """Kullback-Leibler divergence of normal distributions from the standard one.

    Args:
        mean: floating, any shape.
        ln_var: logarithms of the variances, of the shape of `mean`.
        reduce: "sum" or "mean" over all elements, or "no" for one value per element.

    Returns:
        Variable of the dtype of `mean` and shape (), or the shape of `mean` with `reduce="no"`.

    Raises:
        ValueError: `reduce` is none of these.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> F.gaussian_kl_divergence(np.array([0.0, 2.0]), np.array([0.0, 0.0]), reduce="no").array
        array([0., 2.])

    Source: `chainer.functions.gaussian_kl_divergence` of Chainer 7.8.1.
    """
    _check(reduce)
    mean, ln_var = as_variable(mean), as_variable(ln_var)
    variance = exp(ln_var)
    return _reduced((mean * mean + variance - ln_var - 1) * 0.5, reduce)


def bernoulli_nll(x: VariableOrArray, y: VariableOrArray, reduce: str = "sum") -> Variable:
    """Negative log-likelihood of values under Bernoulli distributions of probability sigmoid(y).

    Args:
        x: floating, any shape: values in [0, 1].
        y: of the shape and dtype of `x`: logits.
        reduce: "sum" or "mean" over all elements, or "no" for one value per element.

    Returns:
        Variable of the dtype of `x` and shape (), or the shape of `x` with `reduce="no"`.

    Raises:
        ValueError: `reduce` is none of these.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> F.bernoulli_nll(np.array([1.0, 0.0]), np.array([0.0, 2.0]), reduce="no").array
        array([0.69314718, 2.12692801])

    Source: `chainer.functions.bernoulli_nll` of Chainer 7.8.1.
    """
    _check(reduce)
    return _reduced(softplus(y) - x * as_variable(y), reduce)


def gaussian_nll(x: VariableOrArray, mean: VariableOrArray, ln_var: VariableOrArray, reduce: str = "sum") -> Variable:
    """Negative log-likelihood of values under normal distributions.

    Args:
        x: floating, any shape: values.
        mean: of the shape and dtype of `x`.
        ln_var: logarithms of the variances, of the shape of `x`.
        reduce: "sum" or "mean" over all elements, or "no" for one value per element.

    Returns:
        Variable of the dtype of `x` and shape (), or the shape of `x` with `reduce="no"`.

    Raises:
        ValueError: `reduce` is none of these.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> F.gaussian_nll(np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([0.0, 0.0]), reduce="no").array
        array([0.91893853, 1.41893853])

    Source: `chainer.functions.gaussian_nll` of Chainer 7.8.1.
    """
    _check(reduce)
    ln_var = as_variable(ln_var)
    precision = exp(-ln_var)
    difference = x - as_variable(mean)
    power = difference * difference * precision * -0.5
    return _reduced((ln_var + math.log(2 * math.pi)) / 2 - power, reduce)
