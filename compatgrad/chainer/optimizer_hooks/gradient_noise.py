from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer.backend import using_device

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compatgrad.chainer._typing import Array, DType
    from compatgrad.chainer.variable import Parameter

__all__ = ["GradientNoise", "exponential_decay_noise"]


def exponential_decay_noise(xp: Any, shape: Sequence[int], dtype: DType, hook: GradientNoise, opt: Any) -> Array:
    """Normal noise of mean 0 and variance hook.eta / (1 + opt.t) ** 0.55, which decays as training goes on.

    Args:
        xp: module of the array, `numpy` or `cupy`, whose global random state the noise is drawn from.
        shape: of the noise.
        dtype: of the noise.
        hook: the hook, whose `eta` is read.
        opt: the update rule, whose `t`, the number of updates, is read.

    Returns:
        Array of noise of `shape` and `dtype`.

    Raises:
        AttributeError: `hook` has no `eta`, or `opt` no `t`.

    Example:
        >>> decay = chainer.optimizer_hooks.gradient_noise.exponential_decay_noise
        >>> hook, rule = chainer.optimizer_hooks.GradientNoise(eta=0.01), chainer.optimizers.sgd.SGDRule()
        >>> noise = decay(np, (100, 100), np.float32, hook, rule)
        >>> round(float(noise.std()), 2)
        0.1

    Source: the default of `chainer.optimizer_hooks.GradientNoise` of Chainer 7.8.1.
    """
    std = numpy.sqrt(hook.eta / numpy.power(1 + opt.t, 0.55))
    return xp.random.normal(0, std, shape).astype(dtype)


class GradientNoise:
    """Adds noise to each gradient, by default normal noise whose variance decays.

    Args:
        eta: scale of the noise; by default its first variance.
        noise_func: called with (xp, shape, dtype, hook, rule), the array module, shape and dtype of the gradient, this
            hook and the parameter's update rule; returns an array of that shape.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[3, -4]]))
        >>> layer.W.grad = np.array([[6, 8]], np.float32)
        >>> opt = chainer.optimizers.SGD(lr=1).setup(layer)
        >>> noise = lambda xp, shape, dtype, hook, rule: xp.full(shape, hook.eta, dtype)
        >>> opt.add_hook(chainer.optimizer_hooks.GradientNoise(0.01, noise))
        >>> opt.update()
        >>> layer.W.grad
        array([[6.01, 8.01]], dtype=float32)

    Source: `chainer.optimizer_hooks.GradientNoise` of Chainer 7.8.1; A. Neelakantan et al., 2015,
    https://arxiv.org/abs/1511.06807.
    """

    name = "GradientNoise"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, eta: float, noise_func: Callable[..., Array] = exponential_decay_noise) -> None:
        self.eta = eta
        self.noise_func = noise_func

    def __call__(self, rule: Any, param: Parameter) -> None:
        """Changes the gradient of one parameter, if it has one."""
        grad = param.grad
        if grad is None:
            return
        with using_device(param.device):
            grad += self.noise_func(param.device.xp, grad.shape, grad.dtype, self, rule)
