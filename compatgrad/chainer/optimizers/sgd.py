from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

__all__ = ["SGD", "SGDRule"]

_default_hyperparam = hyperparameters(lr=0.01)


@compiled
class SGDRule(CompiledRule):
    def __init__(self, parent_hyperparam: optimizer.Hyperparameter | None = None, lr: float | None = None) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr)

    def _step(self, params, hp):
        return "sgd", (hp.lr,)


class SGD(CompiledMethod):
    """Stochastic gradient descent: param -= lr * grad.

    Args:
        lr: learning rate.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.SGD(lr=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.8, -1.6]], dtype=float32)

    Source: `chainer.optimizers.SGD` of Chainer 7.8.1.
    """

    _rule_class = SGDRule

    def __init__(self, lr: float = _default_hyperparam.lr) -> None:
        super().__init__(lr=lr)
