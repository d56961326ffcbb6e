from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook, stock


@stock
class WeightDecay(GradientHook):
    """Adds `rate` times the parameter to its gradient."""

    name = "WeightDecay"

    def __init__(self, rate):
        self.rate = rate

    def _step(self, loss_scale):
        return "weight_decay", self.rate if loss_scale is None else self.rate * loss_scale

    def _apply(self, params):
        scales = {}  # nearly always one
        for param in params:
            scales.setdefault(param._loss_scale, []).append(param)
        for scale, group in scales.items():
            self._change(group, scale)
