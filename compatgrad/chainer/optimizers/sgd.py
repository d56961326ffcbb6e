from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["SGD", "SGDRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.01


@compiled
class SGDRule(CompiledRule):
    """Update rule of vanilla stochastic gradient descent. See `SGD`."""

    def __init__(self, parent_hyperparam=None, lr=None):
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr)

    def _step(self, params, hp):
        return "sgd", (hp.lr,)


class SGD(optimizer.GradientMethod):
    """Vanilla stochastic gradient descent with learning rate `lr`."""

    def __init__(self, lr=_default_hyperparam.lr):
        super().__init__()
        self.hyperparam.lr = lr

    lr = optimizer.HyperparameterProxy("lr")

    def create_update_rule(self):
        return SGDRule(self.hyperparam)
