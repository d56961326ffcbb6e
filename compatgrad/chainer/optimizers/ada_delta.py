from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["AdaDelta", "AdaDeltaRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.rho = 0.95
_default_hyperparam.eps = 1e-6


@compiled
class AdaDeltaRule(CompiledRule):
    """Update rule of AdaDelta. See `AdaDelta`."""

    _state_names = ("msg", "msdx")

    def __init__(self, parent_hyperparam=None, rho=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam, rho=rho, eps=eps)

    def _step(self, params, hp):
        return "ada_delta", (hp.rho, 1 - hp.rho, hp.eps)


class AdaDelta(optimizer.GradientMethod):
    """AdaDelta (https://arxiv.org/abs/1212.5701)."""

    def __init__(self, rho=_default_hyperparam.rho, eps=_default_hyperparam.eps):
        super().__init__()
        self.hyperparam.rho = rho
        self.hyperparam.eps = eps

    rho = optimizer.HyperparameterProxy("rho")
    eps = optimizer.HyperparameterProxy("eps")

    def create_update_rule(self):
        return AdaDeltaRule(self.hyperparam)
