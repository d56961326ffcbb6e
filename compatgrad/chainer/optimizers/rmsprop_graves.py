from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

__all__ = ["RMSpropGraves", "RMSpropGravesRule"]

_default_hyperparam = hyperparameters(lr=1e-4, alpha=0.95, momentum=0.9, eps=1e-4)


@compiled
class RMSpropGravesRule(CompiledRule):
    _state_names = ("n", "g", "delta")

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        lr: float | None = None,
        alpha: float | None = None,
        momentum: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, alpha=alpha, momentum=momentum, eps=eps)

    def _step(self, params, hp):
        return "rmsprop_graves", (hp.lr, hp.alpha, 1 - hp.alpha, hp.momentum, hp.eps)


class RMSpropGraves(CompiledMethod):
    """RMSprop with momentum and with the variance of gradients in place of their mean square.

    n = alpha * n + (1 - alpha) * grad**2; g = alpha * g + (1 - alpha) * grad; delta = momentum * delta - lr * grad /
    sqrt(n - g**2 + eps); param += delta.

    Args:
        lr: learning rate.
        alpha: factor by which the means keep their old values.
        momentum: factor by which the last step is kept.
        eps: small number that keeps the divisor from 0.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.RMSpropGraves(lr=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.5412892, -1.5411987]], dtype=float32)

    Source: `chainer.optimizers.RMSpropGraves` of Chainer 7.8.1; A. Graves, 2013, https://arxiv.org/abs/1308.0850.
    """

    _rule_class = RMSpropGravesRule

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        alpha: float = _default_hyperparam.alpha,
        momentum: float = _default_hyperparam.momentum,
        eps: float = _default_hyperparam.eps,
    ) -> None:
        super().__init__(lr=lr, alpha=alpha, momentum=momentum, eps=eps)
