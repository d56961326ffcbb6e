from compatgrad import _C
from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook


class WeightDecay(GradientHook):
    """Adds `rate` times the parameter to its gradient."""

    name = "WeightDecay"

    def __init__(self, rate):
        self.rate = rate

    def _apply(self, params):
        if all(param._loss_scale is None for param in params):
            _C.optim_change_grads("weight_decay", params, (self.rate,))
            return
        for param in params:
            scale = param._loss_scale
            rate = self.rate if scale is None else self.rate * scale
            _C.optim_change_grads("weight_decay", (param,), (rate,))
