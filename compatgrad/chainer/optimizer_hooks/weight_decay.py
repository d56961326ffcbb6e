from compatgrad import _C
from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook


class WeightDecay(GradientHook):
    """Adds `rate` times the parameter to its gradient."""

    name = "WeightDecay"

    def __init__(self, rate):
        self.rate = rate

    def _apply(self, params):
        scales = {}  # nearly always one
        for param in params:
            scales.setdefault(param._loss_scale, []).append(param)
        for scale, group in scales.items():
            rate = self.rate if scale is None else self.rate * scale
            _C.optim_change_grads("weight_decay", group, (rate,))
