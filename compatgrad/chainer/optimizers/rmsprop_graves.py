from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["RMSpropGraves", "RMSpropGravesRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 1e-4
_default_hyperparam.alpha = 0.95
_default_hyperparam.momentum = 0.9
_default_hyperparam.eps = 1e-4


@compiled
class RMSpropGravesRule(CompiledRule):
    """Update rule of Graves's RMSprop. See `RMSpropGraves`."""

    _state_names = ("n", "g", "delta")

    def __init__(self, parent_hyperparam=None, lr=None, alpha=None, momentum=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, alpha=alpha, momentum=momentum, eps=eps)

    def _step(self, params, hp):
        return "rmsprop_graves", (hp.lr, hp.alpha, 1 - hp.alpha, hp.momentum, hp.eps)


class RMSpropGraves(optimizer.GradientMethod):
    """RMSprop with momentum and centred mean square (https://arxiv.org/abs/1308.0850)."""

    def __init__(
        self,
        lr=_default_hyperparam.lr,
        alpha=_default_hyperparam.alpha,
        momentum=_default_hyperparam.momentum,
        eps=_default_hyperparam.eps,
    ):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.alpha = alpha
        self.hyperparam.momentum = momentum
        self.hyperparam.eps = eps

    lr = optimizer.HyperparameterProxy("lr")
    alpha = optimizer.HyperparameterProxy("alpha")
    momentum = optimizer.HyperparameterProxy("momentum")
    eps = optimizer.HyperparameterProxy("eps")

    def create_update_rule(self):
        return RMSpropGravesRule(self.hyperparam)
