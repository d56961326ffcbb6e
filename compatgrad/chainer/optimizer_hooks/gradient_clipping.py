from __future__ import annotations

from typing import Any

from compatgrad import _C
from compatgrad.chainer._link_walk import all_params
from compatgrad.chainer.optimizer_hooks._gradient_hook import stock

__all__ = ["GradientClipping"]


@stock
class GradientClipping:
    """Scales all gradients of the target by one factor so that their joint L2 norm is at most `threshold`. Gradients of
    a smaller norm stay unchanged.

    Args:
        threshold: the largest norm of all gradients together.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[3, -4]]))
        >>> layer.W.grad = np.array([[6, 8]], np.float32)
        >>> opt = chainer.optimizers.SGD(lr=1).setup(layer)
        >>> opt.add_hook(chainer.optimizer_hooks.GradientClipping(5))
        >>> opt.update()
        >>> layer.W.grad
        array([[3., 4.]], dtype=float32)

    Source: `chainer.optimizer_hooks.GradientClipping` of Chainer 7.8.1; R. Pascanu et al., 2012,
    https://arxiv.org/abs/1211.5063.
    """

    name = "GradientClipping"
    timing = "pre"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def _step(self, loss_scale):
        return "clip_norm", self.threshold

    def __call__(self, opt: Any) -> None:
        _C.optim_clip(all_params(opt.target), self.threshold, True)
