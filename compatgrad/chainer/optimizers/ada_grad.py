from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["AdaGrad", "AdaGradRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.001
_default_hyperparam.eps = 1e-8


@compiled
class AdaGradRule(CompiledRule):
    """Update rule of AdaGrad. See `AdaGrad`."""

    _state_names = ("h",)

    def __init__(self, parent_hyperparam=None, lr=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, eps=eps)

    def _step(self, params, hp):
        return "ada_grad", (hp.lr, hp.eps)


class AdaGrad(optimizer.GradientMethod):
    """AdaGrad (http://jmlr.org/papers/v12/duchi11a.html)."""

    def __init__(self, lr=_default_hyperparam.lr, eps=_default_hyperparam.eps):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.eps = eps

    lr = optimizer.HyperparameterProxy("lr")
    eps = optimizer.HyperparameterProxy("eps")

    def create_update_rule(self):
        return AdaGradRule(self.hyperparam)
