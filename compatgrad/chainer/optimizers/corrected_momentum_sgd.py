from __future__ import annotations

from compatgrad.chainer import optimizer  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.optimizers._compiled_rule import compiled
from compatgrad.chainer.optimizers._momentum import MomentumMethod, MomentumRule, _default_hyperparam  # noqa: F401

__all__ = ["CorrectedMomentumSGD", "CorrectedMomentumSGDRule"]


@compiled
class CorrectedMomentumSGDRule(MomentumRule):
    _loop = "corrected_momentum_sgd"


class CorrectedMomentumSGD(MomentumMethod):
    """Stochastic gradient descent with momentum whose velocity does not contain the learning rate: v = momentum * v -
    grad; param += lr * v. A change of lr therefore scales the whole next step.

    Args:
        lr: learning rate.
        momentum: factor by which the last step is kept.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.CorrectedMomentumSGD(lr=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.8, -1.6]], dtype=float32)

    Source: `chainer.optimizers.CorrectedMomentumSGD` of Chainer 7.8.1.
    """

    _rule_class = CorrectedMomentumSGDRule
