from __future__ import annotations

from compatgrad.chainer.optimizer_hooks._gradient_hook import GradientHook, stock

__all__ = ["WeightDecay"]


@stock
class WeightDecay(GradientHook):
    """L2 regularization: adds `rate` times the parameter to its gradient. Where the loss is scaled, the added term is
    scaled too.

    Args:
        rate: coefficient of the regularization.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[3, -4]]))
        >>> layer.W.grad = np.array([[6, 8]], np.float32)
        >>> opt = chainer.optimizers.SGD(lr=1).setup(layer)
        >>> opt.add_hook(chainer.optimizer_hooks.WeightDecay(0.5))
        >>> opt.update()
        >>> layer.W.grad
        array([[7.5, 6. ]], dtype=float32)

    Source: `chainer.optimizer_hooks.WeightDecay` of Chainer 7.8.1.
    """

    name = "WeightDecay"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def _step(self, loss_scale):
        return "weight_decay", self.rate if loss_scale is None else self.rate * loss_scale

    def _apply(self, params):
        scales = {}  # parameters by loss scale, of which there is nearly always one
        for param in params:
            scales.setdefault(param._loss_scale, []).append(param)
        for scale, group in scales.items():
            self._change(group, scale)
