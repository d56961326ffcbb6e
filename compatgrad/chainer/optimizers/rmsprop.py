from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["RMSprop", "RMSpropRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.01
_default_hyperparam.alpha = 0.99
_default_hyperparam.eps = 1e-8
_default_hyperparam.eps_inside_sqrt = False


@compiled
class RMSpropRule(CompiledRule):
    """Update rule of RMSprop; ValueError where eps is zero in the parameter's dtype. See `RMSprop`."""

    _state_names = ("ms",)

    def __init__(self, parent_hyperparam=None, lr=None, alpha=None, eps=None, eps_inside_sqrt=None):
        super().__init__(
            parent_hyperparam or _default_hyperparam,
            lr=lr,
            alpha=alpha,
            eps=eps,
            eps_inside_sqrt=eps_inside_sqrt,
        )

    def _step(self, params, hp):
        self._check_eps(hp.eps, (param.dtype for param in params), "RMSprop")
        name = "rmsprop_inside" if hp.eps_inside_sqrt else "rmsprop"
        return name, (hp.lr, hp.alpha, 1 - hp.alpha, hp.eps)


class RMSprop(optimizer.GradientMethod):
    """RMSprop (Tieleman and Hinton 2012); `eps_inside_sqrt` adds eps to the mean square, not to its root."""

    def __init__(
        self,
        lr=_default_hyperparam.lr,
        alpha=_default_hyperparam.alpha,
        eps=_default_hyperparam.eps,
        eps_inside_sqrt=_default_hyperparam.eps_inside_sqrt,
    ):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.alpha = alpha
        self.hyperparam.eps = eps
        self.hyperparam.eps_inside_sqrt = eps_inside_sqrt

    lr = optimizer.HyperparameterProxy("lr")
    alpha = optimizer.HyperparameterProxy("alpha")
    eps = optimizer.HyperparameterProxy("eps")
    eps_inside_sqrt = optimizer.HyperparameterProxy("eps_inside_sqrt")

    def create_update_rule(self):
        return RMSpropRule(self.hyperparam)
