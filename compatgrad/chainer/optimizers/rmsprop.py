from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

__all__ = ["RMSprop", "RMSpropRule"]

_default_hyperparam = hyperparameters(lr=0.01, alpha=0.99, eps=1e-8, eps_inside_sqrt=False)


@compiled
class RMSpropRule(CompiledRule):
    _state_names = ("ms",)

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        lr: float | None = None,
        alpha: float | None = None,
        eps: float | None = None,
        eps_inside_sqrt: bool | None = None,
    ) -> None:
        super().__init__(
            parent_hyperparam or _default_hyperparam,
            lr=lr,
            alpha=alpha,
            eps=eps,
            eps_inside_sqrt=eps_inside_sqrt,
        )

    def _step(self, params, hp):
        self._check_eps(hp.eps, (param.dtype for param in params), "RMSprop")
        name = "rmsprop_inside" if hp.eps_inside_sqrt else "rmsprop"
        return name, (hp.lr, hp.alpha, 1 - hp.alpha, hp.eps)


class RMSprop(CompiledMethod):
    """Gradients divided by the root of a moving mean of their squares: ms = alpha * ms + (1 - alpha) * grad**2; param
    -= lr * grad / (sqrt(ms) + eps), or / sqrt(ms + eps) with `eps_inside_sqrt`.

    Args:
        lr: learning rate.
        alpha: weight of the old value when the mean of squares is updated.
        eps: small number that keeps the divisor from 0.
        eps_inside_sqrt: True adds eps under the root.

    Raises:
        ValueError: in an update, eps is not 0 and becomes 0 in the dtype of the parameter.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.RMSprop(lr=0.05).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.5, -1.5]], dtype=float32)

    Source: `chainer.optimizers.RMSprop` of Chainer 7.8.1; T. Tieleman and G. Hinton, 2012.
    """

    _rule_class = RMSpropRule

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        alpha: float = _default_hyperparam.alpha,
        eps: float = _default_hyperparam.eps,
        eps_inside_sqrt: bool = _default_hyperparam.eps_inside_sqrt,
    ) -> None:
        super().__init__(lr=lr, alpha=alpha, eps=eps, eps_inside_sqrt=eps_inside_sqrt)
