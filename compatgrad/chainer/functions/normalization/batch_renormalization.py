"""Batch renormalisation (Ioffe 2017)."""

import warnings

from compatgrad.chainer import backend, configuration
from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.normalization import batch_normalization
from compatgrad.chainer.utils import type_check


class BatchRenormalizationFunction(_composed.CallableFunction):
    def __init__(self, eps=2e-5, mean=None, var=None, decay=0.9, rmax=1, dmax=0, update_statistics=True):
        self.eps = eps
        self._running_mean = mean
        self._running_var = var
        self.decay = decay
        self.rmax = rmax
        self.dmax = dmax
        self.update_statistics = update_statistics
        self.r = None

    @property
    def running_mean(self):
        _warn_of_statistics()
        return self._running_mean

    @property
    def running_var(self):
        _warn_of_statistics()
        return self._running_var

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x, gamma, beta = in_types
        ndim = type_check.eval(gamma.ndim)
        type_check.expect(
            x.dtype.kind == "f", x.ndim >= gamma.ndim + 1, x.shape[1 : 1 + ndim] == gamma.shape,
            gamma.dtype.kind == "f", gamma.dtype == beta.dtype, gamma.shape == beta.shape,
        )  # fmt: skip

    def forward(self, inputs):
        assert configuration.config.train, (
            "batch_renormalization is for training; elsewhere call fixed_batch_renormalization"
        )
        x, gamma, _ = inputs
        xp = backend.get_array_module(x)
        axis = (0, *range(gamma.ndim + 1, x.ndim))
        mean = x.mean(axis=axis, dtype=gamma.dtype)
        var = x.var(axis=axis, dtype=gamma.dtype)
        running_std = xp.sqrt(self._running_var + self.eps, dtype=self._running_mean.dtype)
        std = xp.sqrt(var + self.eps, dtype=var.dtype)
        self.r = xp.clip(std / running_std, 1.0 / self.rmax, self.rmax).astype(gamma.dtype)
        self._d = xp.clip((mean - self._running_mean) / running_std, -self.dmax, self.dmax).astype(gamma.dtype)
        y = super().forward(inputs)
        if self.update_statistics:
            m = x.size // gamma.size
            for running, batch in (
                (self._running_mean, mean),
                (self._running_var, var * (m / max(m - 1.0, 1.0))),
            ):
                running *= self.decay
                running += (1 - self.decay) * batch
        return y

    def compose(self, x, gamma, beta):
        # r and d are constants of the derivative: a batch normalisation with another scale and shift.
        gamma, beta = gamma * self.r, beta + gamma * self._d
        return batch_normalization._batch_normalization(x, gamma, beta, self.eps, None, None, None, 0.9)


def _warn_of_statistics():
    text = "Attributes of BatchRenormalizationFunction are deprecated. Use update_statistics=True instead."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def batch_renormalization(
    x,
    gamma,
    beta,
    rmax,
    dmax,
    eps=2e-5,
    running_mean=None,
    running_var=None,
    decay=0.9,
    update_statistics=False,
):
    """Batch normalisation corrected towards the running statistics.

    The batch's standard deviation and mean count as at most `rmax` times the running ones and `dmax`
    running standard deviations away. With `update_statistics`, `running_mean` and `running_var` are
    updated in place with `decay`. Raises TypeError where one of them is missing, InvalidType where shapes
    do not fit.
    """
    if running_mean is None:
        raise TypeError("running_mean is required")
    if running_var is None:
        raise TypeError("running_var is required")
    function = BatchRenormalizationFunction(eps, running_mean, running_var, decay, rmax, dmax, update_statistics)
    return function(x, gamma, beta)


def fixed_batch_renormalization(x, gamma, beta, mean, var, eps=2e-5):
    """Deprecated: the same as `fixed_batch_normalization`."""
    text = "fixed_batch_renormalization is deprecated. Use fixed_batch_normalization instead."
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return batch_normalization.fixed_batch_normalization(x, gamma, beta, mean, var, eps)
