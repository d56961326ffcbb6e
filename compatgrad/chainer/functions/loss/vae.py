"""Losses of variational autoencoders."""

import math

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.softplus import softplus
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.exponential import exp
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.variable import as_variable


def _check(reduce):
    _composed.check_reduce(reduce, "sum", "mean", "no")


def _reduced(loss, reduce):
    return _sum(loss) if reduce == "sum" else average(loss) if reduce == "mean" else loss


def gaussian_kl_divergence(mean, ln_var, reduce="sum"):
    """Kullback-Leibler divergence of normal distributions from the standard one, by means and logarithms of
    variances.

    `reduce`: "sum", "mean" or "no", one per element; ValueError for another.
    """
    _check(reduce)
    mean, ln_var = as_variable(mean), as_variable(ln_var)
    variance = exp(ln_var)
    return _reduced((mean * mean + variance - ln_var - 1) * 0.5, reduce)


def bernoulli_nll(x, y, reduce="sum"):
    """Negative log-likelihood of x under Bernoulli distributions of probability sigmoid(y).

    `reduce`: "sum", "mean" or "no", one per element; ValueError for another.
    """
    _check(reduce)
    return _reduced(softplus(y) - x * as_variable(y), reduce)


def gaussian_nll(x, mean, ln_var, reduce="sum"):
    """Negative log-likelihood of x under normal distributions, by means and logarithms of variances.

    `reduce`: "sum", "mean" or "no", one per element; ValueError for another.
    """
    _check(reduce)
    ln_var = as_variable(ln_var)
    precision = exp(-ln_var)
    difference = x - as_variable(mean)
    power = difference * difference * precision * -0.5
    return _reduced((ln_var + math.log(2 * math.pi)) / 2 - power, reduce)
