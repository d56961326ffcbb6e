"""Samples of categorical distributions, relaxed."""

from compatgrad.chainer import backend, variable
from compatgrad.chainer.functions.activation.softmax import softmax


def gumbel_softmax(log_pi, tau=0.1, axis=1):
    """softmax((log_pi + g) / tau) along `axis`, with g drawn by numpy.random.gumbel (Jang et al. 2016).

    `log_pi` are logarithms of probabilities, `tau` the temperature.
    """
    xp = backend.get_array_module(log_pi)
    if log_pi.ndim < 1:
        return variable.Variable(xp.ones((), log_pi.dtype))
    noise = xp.random.gumbel(size=log_pi.shape).astype(log_pi.dtype)
    return softmax((variable.as_variable(log_pi) + noise) / tau, axis=axis)
