"""Weight standardization."""

from __future__ import annotations

import compatgrad.chainer.functions as F
from compatgrad.chainer.link_hooks._weight import WeightHook


class WeightStandardization(WeightHook):
    """Standardizes a weight while the link runs: the weights of each output get mean 0 and variance 1.

    Args:
        eps: added to the variance.
        weight_name: attribute of the weight.
        name: name of the hook; None is "WeightStandardization".

    Raises:
        ValueError: when the hook is added, the link has no such weight.

    Example:
        >>> from compatgrad.chainer import link_hooks
        >>> hook = link_hooks.WeightStandardization()
        >>> link = L.Linear(2, 1, nobias=True, initialW=np.array([[1.0, 3.0]])).add_hook(hook)
        >>> link(np.array([[1.0, 0.0]], np.float32)).array.round(3)
        array([[-1.]], dtype=float32)

    Source: `chainer.link_hooks.WeightStandardization` of Chainer 7.8.1; S. Qiao et al., "Weight Standardization",
    https://arxiv.org/abs/1903.10520.
    """

    name = "WeightStandardization"

    def __init__(self, *, eps: float = 1e-5, weight_name: str = "W", name: str | None = None) -> None:
        super().__init__(weight_name, name)
        self.eps = eps

    def _replacement(self, link):
        weight = getattr(link, self.weight_name)
        with link.device.create_context():
            gamma = link.xp.ones((weight.shape[1],), dtype=weight.dtype)
            beta = link.xp.zeros((weight.shape[1],), dtype=weight.dtype)
        return F.group_normalization(weight, groups=1, gamma=gamma, beta=beta, eps=self.eps)
