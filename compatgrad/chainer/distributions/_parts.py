"""Functions that several distributions are made of."""

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.backend import get_array_module

LOG_ROOT_2PI = 0.5 * numpy.log(2 * numpy.pi)
EULER = numpy.euler_gamma


def within(condition, log_prob):
    """`log_prob` where the condition, an array, is true, minus infinity elsewhere."""
    xp = log_prob.xp
    condition = xp.broadcast_to(xp.asarray(condition), log_prob.shape)
    return F.where(condition, log_prob, xp.full_like(log_prob.array, -xp.inf))


def array_of(x):
    """The array of a Variable, else `x` itself."""
    return x.array if isinstance(x, chainer.Variable) else x


def log_beta(a, b):
    """Logarithm of the beta function."""
    return F.lgamma(a) + F.lgamma(b) - F.lgamma(a + b)


def categorical_kl(dist1, dist2):
    """The Kullback-Leibler divergence of two distributions with probabilities `p` along the last axis."""
    return F.sum(dist1.p * (dist1.log_p - dist2.log_p), axis=-1)


def choices(p, n):
    """Indices of shape (n,) + p.shape[:-1], drawn with the probabilities along the last axis of the array p."""
    xp = get_array_module(p)
    size = p.shape[-1]
    drawn = []
    for row in p.reshape(-1, size):
        if not numpy.isclose(float(row.sum()), 1, rtol=0, atol=numpy.finfo(p.dtype).eps ** 0.5):
            raise ValueError(f"p: expected probabilities whose sum is 1, got {float(row.sum())}")
        if p.dtype != numpy.float64:  # NumPy requires that the sum is 1 to the precision of a double
            row = row.astype(numpy.float64)
            row /= row.sum()
        drawn.append(xp.random.choice(size, size=(n,), p=row))
    return xp.stack(drawn, axis=1).reshape(n, *p.shape[:-1])
