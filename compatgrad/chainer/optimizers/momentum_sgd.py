from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["MomentumSGD", "MomentumSGDRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.01
_default_hyperparam.momentum = 0.9


@compiled
class MomentumSGDRule(CompiledRule):
    """Update rule of momentum SGD. See `MomentumSGD`."""

    _state_names = ("v",)

    def __init__(self, parent_hyperparam=None, lr=None, momentum=None):
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, momentum=momentum)

    def _step(self, params, hp):
        return "momentum_sgd", (hp.lr, hp.momentum)


class MomentumSGD(optimizer.GradientMethod):
    """SGD with momentum: v = momentum * v - lr * grad; param += v."""

    def __init__(self, lr=_default_hyperparam.lr, momentum=_default_hyperparam.momentum):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.momentum = momentum

    lr = optimizer.HyperparameterProxy("lr")
    momentum = optimizer.HyperparameterProxy("momentum")

    def create_update_rule(self):
        return MomentumSGDRule(self.hyperparam)
