import numpy

from compatgrad.chainer.backend import using_device


def exponential_decay_noise(xp, shape, dtype, hook, opt):
    """Normal noise of variance `hook.eta / (1 + opt.t) ** 0.55`."""
    std = numpy.sqrt(hook.eta / numpy.power(1 + opt.t, 0.55))
    return xp.random.normal(0, std, shape).astype(dtype)


class GradientNoise:
    """Adds `noise_func(xp, shape, dtype, hook, rule)` to each gradient."""

    name = "GradientNoise"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, eta, noise_func=exponential_decay_noise):
        self.eta = eta
        self.noise_func = noise_func

    def __call__(self, rule, param):
        grad = param.grad
        if grad is None:
            return
        with using_device(param.device):
            grad += self.noise_func(param.device.xp, grad.shape, grad.dtype, self, rule)
