from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

__all__ = ["AdaDelta", "AdaDeltaRule"]

_default_hyperparam = hyperparameters(rho=0.95, eps=1e-6)


@compiled
class AdaDeltaRule(CompiledRule):
    _state_names = ("msg", "msdx")

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        rho: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, rho=rho, eps=eps)

    def _step(self, params, hp):
        return "ada_delta", (hp.rho, 1 - hp.rho, hp.eps)


class AdaDelta(CompiledMethod):
    """Step sizes from the ratio of past steps and gradients, without a learning rate.

    msg = rho * msg + (1 - rho) * grad**2; dx = sqrt((msdx + eps) / (msg + eps)) * grad; msdx = rho * msdx + (1 - rho) *
    dx**2; param -= dx.

    Args:
        rho: weight of the old value when the means of squares are updated.
        eps: small number in numerator and denominator; it determines the size of the first steps.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.AdaDelta(eps=1e-2).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.56356424, -1.5555556 ]], dtype=float32)

    Source: `chainer.optimizers.AdaDelta` of Chainer 7.8.1; M. Zeiler, 2012, https://arxiv.org/abs/1212.5701.
    """

    _rule_class = AdaDeltaRule

    def __init__(self, rho: float = _default_hyperparam.rho, eps: float = _default_hyperparam.eps) -> None:
        super().__init__(rho=rho, eps=eps)
