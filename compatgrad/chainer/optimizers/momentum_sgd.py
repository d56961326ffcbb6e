from __future__ import annotations

from compatgrad.chainer import optimizer  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.optimizers._compiled_rule import compiled
from compatgrad.chainer.optimizers._momentum import MomentumMethod, MomentumRule, _default_hyperparam  # noqa: F401

__all__ = ["MomentumSGD", "MomentumSGDRule"]


@compiled
class MomentumSGDRule(MomentumRule):
    _loop = "momentum_sgd"


class MomentumSGD(MomentumMethod):
    """Stochastic gradient descent with momentum: v = momentum * v - lr * grad; param += v.

    Args:
        lr: learning rate.
        momentum: factor by which the last step is kept.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.MomentumSGD(lr=0.1, momentum=0.5).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.8, -1.6]], dtype=float32)

    Source: `chainer.optimizers.MomentumSGD` of Chainer 7.8.1.
    """

    _rule_class = MomentumSGDRule
