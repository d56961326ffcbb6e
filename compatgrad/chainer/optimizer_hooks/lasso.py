from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook, stock


@stock
class Lasso(GradientHook):
    """Adds `rate` times the sign of the parameter to its gradient."""

    name = "Lasso"

    def __init__(self, rate):
        self.rate = rate

    def _step(self, loss_scale):
        return "lasso", self.rate
