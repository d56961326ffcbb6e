from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, hyperparameters

__all__ = ["MSVAG", "MSVAGRule"]

_default_hyperparam = hyperparameters(lr=0.1, beta=0.9, eta=1.0, weight_decay_rate=0)


class MSVAGRule(CompiledRule):
    _state_names = ("m", "v")

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        lr: float | None = None,
        beta: float | None = None,
        eta: float | None = None,
        weight_decay_rate: float | None = None,
    ) -> None:
        super().__init__(
            parent_hyperparam or _default_hyperparam,
            lr=lr,
            beta=beta,
            eta=eta,
            weight_decay_rate=weight_decay_rate,
        )
        self.beta_power = self.hyperparam.beta

    def _step(self, params, hp):
        power = self.beta_power
        rho = ((1.0 - hp.beta) ** 2) * (1.0 - power**2) / (((1.0 - power) ** 2) * (1.0 - hp.beta**2))
        rho = min(rho, 0.9999)
        self.beta_power *= hp.beta
        constants = (1 - hp.beta, 1 - power, rho, 1 - rho, hp.lr, hp.eta, hp.weight_decay_rate, 0.0, 1.0)
        return "msvag", constants


class MSVAG(CompiledMethod):
    """Momentum whose elements are damped by an estimate of their variance.

    With m and v, the moving means of grad and grad**2, both divided by 1 - beta**t: s = (v - m**2) / (1 - rho), an
    estimate of the variance; factor = m**2 / (m**2 + rho * s), in [0, 1]; param -= eta * (lr * factor * m +
    weight_decay_rate * param). rho follows from beta and t.

    Args:
        lr: learning rate.
        beta: weight of the old value when the means are updated.
        eta: factor of the whole step, weight decay included: the schedule multiplier of AdamW.
        weight_decay_rate: factor of the parameter that each step subtracts, apart from the gradient.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.MSVAG(lr=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.8, -1.6]], dtype=float32)

    Source: `chainer.optimizers.MSVAG` of Chainer 7.8.1; L. Balles and P. Hennig, 2017,
    https://arxiv.org/abs/1705.07774.
    """

    _rule_class = MSVAGRule

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        beta: float = _default_hyperparam.beta,
        eta: float = _default_hyperparam.eta,
        weight_decay_rate: float = _default_hyperparam.weight_decay_rate,
    ) -> None:
        super().__init__(lr=lr, beta=beta, eta=eta, weight_decay_rate=weight_decay_rate)
