"""Weight standardization."""

import compatgrad.chainer.functions as F
from compatgrad.chainer.link_hooks._weight import WeightHook


class WeightStandardization(WeightHook):
    """Gives the weights of every output mean 0 and variance 1 (plus `eps`) during forward.

    `weight_name` is the attribute, `name` the hook's. Qiao et al., https://arxiv.org/abs/1903.10520.
    """

    name = "WeightStandardization"

    def __init__(self, *, eps=1e-5, weight_name="W", name=None):
        super().__init__(weight_name, name)
        self.eps = eps

    def _replacement(self, link):
        weight = getattr(link, self.weight_name)
        with link.device.create_context():
            gamma = link.xp.ones((weight.shape[1],), dtype=weight.dtype)
            beta = link.xp.zeros((weight.shape[1],), dtype=weight.dtype)
        return F.group_normalization(weight, groups=1, gamma=gamma, beta=beta, eps=self.eps)
