from compatgrad import _C
from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook


class Lasso(GradientHook):
    """Adds `rate` times the sign of the parameter to its gradient."""

    name = "Lasso"

    def __init__(self, rate):
        self.rate = rate

    def _apply(self, params):
        _C.optim_change_grads("lasso", params, (self.rate,))
