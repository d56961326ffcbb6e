from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.backend import using_device

if TYPE_CHECKING:
    from compatgrad.chainer.variable import Parameter

__all__ = ["GradientLARS"]


class GradientLARS:
    """Layer-wise adaptive rate scaling: grad = r (grad + weight_decay param), with r = |param| / (eps + |grad| +
    weight_decay |param|) where the norm |param| exceeds `threshold`, and 1 elsewhere.

    Args:
        threshold: norm of a parameter up to which its gradient is not scaled.
        weight_decay: factor of the parameter that is added to its gradient.
        eps: keeps the divisor from being 0.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[3, -4]]))
        >>> layer.W.grad = np.array([[6, 8]], np.float32)
        >>> opt = chainer.optimizers.SGD(lr=1).setup(layer)
        >>> opt.add_hook(chainer.optimizer_hooks.GradientLARS())
        >>> opt.update()
        >>> layer.W.grad
        array([[3., 4.]], dtype=float32)

    Source: `chainer.optimizer_hooks.GradientLARS` of Chainer 7.8.1; Y. You, I. Gitman and B. Ginsburg, 2017,
    https://arxiv.org/abs/1708.03888.
    """

    name = "GradientLARS"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, threshold: float = 1e-2, weight_decay: float = 0.0, eps: float = 1e-9) -> None:
        self.threshold = threshold
        self.weight_decay = weight_decay
        self.eps = eps

    def __call__(self, rule: Any, param: Parameter) -> None:
        """Changes the gradient of one parameter, if it has one."""
        data = param.data
        grad = None if data is None else param.grad
        if grad is None:
            return
        with using_device(param.device):
            xp = param.device.xp
            # in float64, as with NumPy 1: in float16 eps is 0, and the ratio overflows
            data_norm = xp.linalg.norm(data).astype(float)
            ratio = data_norm / (self.eps + xp.linalg.norm(grad).astype(float) + self.weight_decay * data_norm)
            wide = xp.float32 if grad.dtype == xp.float16 else grad.dtype
            rate = xp.where(data_norm > self.threshold, ratio, 1.0).astype(wide)
            grad += self.weight_decay * data
            grad *= rate
