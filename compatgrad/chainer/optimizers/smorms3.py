from compatgrad.chainer import optimizer
from compatgrad.chainer.backend import using_device
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["SMORMS3", "SMORMS3Rule"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.001
_default_hyperparam.eps = 1e-16


@compiled
class SMORMS3Rule(CompiledRule):
    """Update rule of SMORMS3. See `SMORMS3`."""

    _state_names = ("mem", "g", "g2")

    def __init__(self, parent_hyperparam=None, lr=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, eps=eps)

    def init_state(self, param):
        with using_device(param.device):
            self.state["mem"] = param.device.xp.ones_like(param.data)
        self._make_zeros(param, "g", "g2")

    def _step(self, params, hp):
        return "smorms3", (hp.lr, hp.eps, 1.0)


class SMORMS3(optimizer.GradientMethod):
    """SMORMS3 by Simon Funk (http://sifter.org/~simon/journal/20150420.html)."""

    def __init__(self, lr=_default_hyperparam.lr, eps=_default_hyperparam.eps):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.eps = eps

    lr = optimizer.HyperparameterProxy("lr")
    eps = optimizer.HyperparameterProxy("eps")

    def create_update_rule(self):
        return SMORMS3Rule(self.hyperparam)
