"""Base classes of the three forms of stochastic gradient descent with momentum."""

from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, hyperparameters

_default_hyperparam = hyperparameters(lr=0.01, momentum=0.9)


class MomentumRule(CompiledRule):
    """An update rule with a velocity."""

    _state_names = ("v",)
    _loop: str

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        lr: float | None = None,
        momentum: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, momentum=momentum)

    def _step(self, params, hp):
        return self._loop, (hp.lr, hp.momentum)


class MomentumMethod(CompiledMethod):
    """An optimizer with a learning rate and a momentum."""

    def __init__(self, lr: float = _default_hyperparam.lr, momentum: float = _default_hyperparam.momentum) -> None:
        super().__init__(lr=lr, momentum=momentum)

    lr = optimizer.HyperparameterProxy("lr")
    momentum = optimizer.HyperparameterProxy("momentum")
