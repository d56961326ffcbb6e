from compatgrad import _C
from compatgrad.chainer._link_walk import all_params
from compatgrad.chainer.optimizer_hooks._gradient_hook import stock


@stock
class GradientClipping:
    """Scales all gradients of the target so that the norm of them together is at most `threshold`."""

    name = "GradientClipping"
    timing = "pre"

    def __init__(self, threshold):
        self.threshold = threshold

    def _step(self, loss_scale):
        return "clip_norm", self.threshold

    def __call__(self, opt):
        _C.optim_clip(all_params(opt.target), self.threshold, True)
