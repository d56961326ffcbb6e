"""One-hot categorical distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Multivariate, statistic
from compatgrad.chainer.distributions._parts import categorical_kl, choices
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["OneHotCategorical"]


class OneHotCategorical(Multivariate):
    """Distribution of one-hot vectors.

    Args:
        p: floating, (..., k): probabilities of k places of the 1, whose sums are 1. An event is a vector of length k.

    Example:
        >>> d = chainer.distributions.OneHotCategorical(np.array([0.25, 0.75]))
        >>> d.prob(np.array([0.0, 1.0])).array, d.mean.array
        (array(0.75), array([0.25, 0.75]))

    Source: `chainer.distributions.OneHotCategorical` of Chainer 7.8.1.
    """

    def __init__(self, p: VariableOrArray) -> None:
        self._set(p=p)

    log_p = statistic(lambda self: F.log(self.p))
    mean = statistic(lambda self: self.p)
    variance = statistic(lambda self: self.p * (1.0 - self.p))

    def log_prob(self, x: VariableOrArray) -> Variable:
        return F.sum(self.log_p * x, axis=-1)

    def sample_n(self, n: int) -> Variable:
        p = self.p.array
        return chainer.Variable(self.xp.eye(p.shape[-1], dtype=p.dtype)[choices(p, n)])


register_kl(OneHotCategorical, OneHotCategorical)(categorical_kl)
