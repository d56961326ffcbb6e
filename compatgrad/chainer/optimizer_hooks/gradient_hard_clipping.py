from compatgrad import _C
from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook


class GradientHardClipping(GradientHook):
    """Moves every element of a gradient into [`lower_bound`, `upper_bound`]."""

    name = "GradientHardClipping"

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def _apply(self, params):
        _C.optim_change_grads("hard_clip", params, (self.lower_bound, self.upper_bound))
