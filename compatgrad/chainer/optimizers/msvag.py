from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule

__all__ = ["MSVAG", "MSVAGRule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.1
_default_hyperparam.beta = 0.9
_default_hyperparam.eta = 1.0
_default_hyperparam.weight_decay_rate = 0


class MSVAGRule(CompiledRule):
    """Update rule of M-SVAG; keeps a power of beta of its own. See `MSVAG`."""

    _state_names = ("m", "v")

    def __init__(self, parent_hyperparam=None, lr=None, beta=None, eta=None, weight_decay_rate=None):
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


class MSVAG(optimizer.GradientMethod):
    """M-SVAG (https://arxiv.org/abs/1705.07774)."""

    def __init__(
        self,
        lr=_default_hyperparam.lr,
        beta=_default_hyperparam.beta,
        eta=_default_hyperparam.eta,
        weight_decay_rate=_default_hyperparam.weight_decay_rate,
    ):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.beta = beta
        self.hyperparam.eta = eta
        self.hyperparam.weight_decay_rate = weight_decay_rate

    lr = optimizer.HyperparameterProxy("lr")
    beta = optimizer.HyperparameterProxy("beta")
    eta = optimizer.HyperparameterProxy("eta")
    weight_decay_rate = optimizer.HyperparameterProxy("weight_decay_rate")

    def create_update_rule(self):
        return MSVAGRule(self.hyperparam)
