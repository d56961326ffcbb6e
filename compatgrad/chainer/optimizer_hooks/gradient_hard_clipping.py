from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook, stock


@stock
class GradientHardClipping(GradientHook):
    """Moves every element of a gradient into [`lower_bound`, `upper_bound`]."""

    name = "GradientHardClipping"

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def _step(self, loss_scale):
        return "hard_clip", self.lower_bound, self.upper_bound
