from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

__all__ = ["AdaGrad", "AdaGradRule"]

_default_hyperparam = hyperparameters(lr=0.001, eps=1e-8)


@compiled
class AdaGradRule(CompiledRule):
    _state_names = ("h",)

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        lr: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, eps=eps)

    def _step(self, params, hp):
        return "ada_grad", (hp.lr, hp.eps)


class AdaGrad(CompiledMethod):
    """Step sizes that decrease with the sum of the squares of all gradients so far: h += grad**2; param -= lr * grad /
    (sqrt(h) + eps).

    Args:
        lr: learning rate.
        eps: small number that keeps the divisor from 0.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.AdaGrad(lr=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.9, -1.9]], dtype=float32)

    Source: `chainer.optimizers.AdaGrad` of Chainer 7.8.1; J. Duchi et al., JMLR 2011,
    http://jmlr.org/papers/v12/duchi11a.html.
    """

    _rule_class = AdaGradRule

    def __init__(self, lr: float = _default_hyperparam.lr, eps: float = _default_hyperparam.eps) -> None:
        super().__init__(lr=lr, eps=eps)
