from __future__ import annotations

from compatgrad.chainer import optimizer  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.optimizers._compiled_rule import compiled
from compatgrad.chainer.optimizers._momentum import MomentumMethod, MomentumRule, _default_hyperparam  # noqa: F401

__all__ = ["NesterovAG", "NesterovAGRule"]


@compiled
class NesterovAGRule(MomentumRule):
    def _step(self, params, hp):
        lr, momentum = hp.lr, hp.momentum
        return "nesterov_ag", (lr, momentum, momentum * momentum, (1 + momentum) * lr)


class NesterovAG(MomentumMethod):
    """Nesterov's accelerated gradient: v = momentum * v - lr * grad; param += momentum**2 * v - (1 + momentum) * lr *
    grad.

    Args:
        lr: learning rate.
        momentum: factor by which the last step is kept.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.NesterovAG(lr=0.1, momentum=0.5).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.65, -1.3 ]], dtype=float32)

    Source: `chainer.optimizers.NesterovAG` of Chainer 7.8.1; Y. Bengio et al., 2012, https://arxiv.org/abs/1212.0901.
    """

    _rule_class = NesterovAGRule
