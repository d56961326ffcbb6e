from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["NesterovAG", "NesterovAGRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.01
_default_hyperparam.momentum = 0.9


@compiled
class NesterovAGRule(CompiledRule):
    """Update rule of Nesterov's accelerated gradient. See `NesterovAG`."""

    _state_names = ("v",)

    def __init__(self, parent_hyperparam=None, lr=None, momentum=None):
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, momentum=momentum)

    def _step(self, params, hp):
        lr, momentum = hp.lr, hp.momentum
        return "nesterov_ag", (lr, momentum, momentum * momentum, (1 + momentum) * lr)


class NesterovAG(optimizer.GradientMethod):
    """Nesterov's accelerated gradient (arXiv:1212.0901)."""

    def __init__(self, lr=_default_hyperparam.lr, momentum=_default_hyperparam.momentum):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.momentum = momentum

    lr = optimizer.HyperparameterProxy("lr")
    momentum = optimizer.HyperparameterProxy("momentum")

    def create_update_rule(self):
        return NesterovAGRule(self.hyperparam)
