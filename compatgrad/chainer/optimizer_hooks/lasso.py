from __future__ import annotations

from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook, stock

__all__ = ["Lasso"]


@stock
class Lasso(GradientHook):
    """L1 regularization: adds `rate` times the sign of the parameter to its gradient.

    Args:
        rate: coefficient of the regularization.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[3, -4]]))
        >>> layer.W.grad = np.array([[6, 8]], np.float32)
        >>> opt = chainer.optimizers.SGD(lr=1).setup(layer)
        >>> opt.add_hook(chainer.optimizer_hooks.Lasso(0.5))
        >>> opt.update()
        >>> layer.W.grad
        array([[6.5, 7.5]], dtype=float32)

    Source: `chainer.optimizer_hooks.Lasso` of Chainer 7.8.1.
    """

    name = "Lasso"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def _step(self, loss_scale):
        return "lasso", self.rate
