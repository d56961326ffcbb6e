from __future__ import annotations

from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook, stock

__all__ = ["GradientHardClipping"]


@stock
class GradientHardClipping(GradientHook):
    """Clips every element of each gradient to [lower_bound, upper_bound].

    Args:
        lower_bound: the smallest value.
        upper_bound: the greatest value.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[3, -4]]))
        >>> layer.W.grad = np.array([[6, 8]], np.float32)
        >>> opt = chainer.optimizers.SGD(lr=1).setup(layer)
        >>> opt.add_hook(chainer.optimizer_hooks.GradientHardClipping(-7, 7))
        >>> opt.update()
        >>> layer.W.grad
        array([[6., 7.]], dtype=float32)

    Source: `chainer.optimizer_hooks.GradientHardClipping` of Chainer 7.8.1.
    """

    name = "GradientHardClipping"

    def __init__(self, lower_bound: float, upper_bound: float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def _step(self, loss_scale):
        return "hard_clip", self.lower_bound, self.upper_bound
