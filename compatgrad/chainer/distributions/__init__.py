"""Probability distributions. Mirrors ``chainer.distributions``."""

from compatgrad.chainer.distributions.bernoulli import Bernoulli
from compatgrad.chainer.distributions.beta import Beta
from compatgrad.chainer.distributions.categorical import Categorical
from compatgrad.chainer.distributions.cauchy import Cauchy
from compatgrad.chainer.distributions.chisquare import Chisquare
from compatgrad.chainer.distributions.dirichlet import Dirichlet
from compatgrad.chainer.distributions.exponential import Exponential
from compatgrad.chainer.distributions.gamma import Gamma
from compatgrad.chainer.distributions.geometric import Geometric
from compatgrad.chainer.distributions.gumbel import Gumbel
from compatgrad.chainer.distributions.independent import Independent
from compatgrad.chainer.distributions.laplace import Laplace
from compatgrad.chainer.distributions.log_normal import LogNormal
from compatgrad.chainer.distributions.multivariate_normal import MultivariateNormal
from compatgrad.chainer.distributions.normal import Normal
from compatgrad.chainer.distributions.one_hot_categorical import OneHotCategorical
from compatgrad.chainer.distributions.pareto import Pareto
from compatgrad.chainer.distributions.poisson import Poisson
from compatgrad.chainer.distributions.uniform import Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Cauchy",
    "Chisquare",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "Independent",
    "Laplace",
    "LogNormal",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Pareto",
    "Poisson",
    "Uniform",
]
