"""Batch renormalization (Ioffe 2017)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from compatgrad.chainer import backend, configuration
from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.normalization import batch_normalization
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Array, VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class BatchRenormalizationFunction(_composed.CallableFunction):
    """The node of `chainer.functions.batch_renormalization` in the graph, its result's `creator`.

    Args:
        eps: small number that keeps the divisor from 0.
        mean: array of the running mean.
        var: array of the running variance.
        decay: factor by which the running statistics keep their old value.
        rmax: the ratio of the batch's to the running standard deviation is clipped to [1 / rmax, rmax].
        dmax: the distance of the batch's from the running mean, in running standard deviations, is clipped to [-dmax,
            dmax].
        update_statistics: True updates `mean` and `var` in place.

    Example:
        >>> x, gamma, beta, mean, var = np.array([[0.0], [2.0]]), np.ones(1), np.zeros(1), np.zeros(1), np.ones(1)
        >>> F.batch_renormalization(x, gamma, beta, 1, 0, running_mean=mean, running_var=var).creator.label
        'BatchRenormalizationFunction'

    Source: `chainer.functions.normalization.batch_renormalization.BatchRenormalizationFunction` of Chainer 7.8.1.
    """

    def __init__(
        self,
        eps: float = 2e-5,
        mean: NdArray | None = None,
        var: NdArray | None = None,
        decay: float = 0.9,
        rmax: float = 1,
        dmax: float = 0,
        update_statistics: bool = True,
    ) -> None:
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
        """The array of the running mean. Deprecated: issues a DeprecationWarning."""
        _warn_of_statistics()
        return self._running_mean

    @property
    def running_var(self):
        """The array of the running variance. Deprecated: issues a DeprecationWarning."""
        _warn_of_statistics()
        return self._running_var

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 3)
        x, gamma, beta = in_types
        ndim = type_check.eval(gamma.ndim)
        type_check.expect(
            x.dtype.kind == "f", x.ndim >= gamma.ndim + 1, x.shape[1 : 1 + ndim] == gamma.shape,
            gamma.dtype.kind == "f", gamma.dtype == beta.dtype, gamma.shape == beta.shape,
        )  # fmt: skip

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        assert configuration.config.train, (
            "batch_renormalization is for training; in evaluation call fixed_batch_normalization"
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

    def compose(self, x: Variable, gamma: Variable, beta: Variable) -> Variable:
        # The corrections r and d count as constants in the gradient, so this is batch normalization with a changed
        # scale and shift.
        gamma, beta = gamma * self.r, beta + gamma * self._d
        return batch_normalization._batch_normalization(x, gamma, beta, self.eps, None, None, None, 0.9)


def _warn_of_statistics():
    text = "Attributes of BatchRenormalizationFunction are deprecated. Use update_statistics=True instead."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def batch_renormalization(
    x: VariableOrArray,
    gamma: VariableOrArray,
    beta: VariableOrArray,
    rmax: float,
    dmax: float,
    eps: float = 2e-5,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    decay: float = 0.9,
    update_statistics: bool = False,
) -> Variable:
    """Batch normalization whose statistics are corrected towards the running statistics.

    Args:
        x: floating, (n, ...): n samples.
        gamma, beta: floating, of the shape of the first axes of a sample: scale and shift.
        rmax: the ratio of the batch's to the running standard deviation is clipped to [1 / rmax, rmax].
        dmax: the distance of the batch's from the running mean, in running standard deviations, is clipped to [-dmax,
            dmax].
        eps: added to the variances.
        running_mean: array of the shape of `gamma`. Required.
        running_var: array of the shape of `gamma`. Required.
        decay: factor by which the running statistics keep their old value.
        update_statistics: True updates the running statistics in place.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        TypeError: `running_mean` or `running_var` is missing.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: the configuration's `train` is False.

    Example:
        >>> x, gamma, beta, mean, var = np.array([[0.0], [2.0]]), np.ones(1), np.zeros(1), np.zeros(1), np.ones(1)
        >>> F.batch_renormalization(x, gamma, beta, rmax=3, dmax=0.5, eps=0, running_mean=mean, running_var=var).array
        array([[-0.5],
               [ 1.5]])

    Source: `chainer.functions.batch_renormalization` of Chainer 7.8.1; Ioffe 2017.
    """
    if running_mean is None:
        raise TypeError("running_mean is required")
    if running_var is None:
        raise TypeError("running_var is required")
    function = BatchRenormalizationFunction(eps, running_mean, running_var, decay, rmax, dmax, update_statistics)
    return function(x, gamma, beta)


def fixed_batch_renormalization(
    x: VariableOrArray,
    gamma: VariableOrArray,
    beta: VariableOrArray,
    mean: VariableOrArray,
    var: VariableOrArray,
    eps: float = 2e-5,
) -> Variable:
    """Deprecated: the same as `fixed_batch_normalization`, with a DeprecationWarning.

    Args:
        x: floating, (n, ...): n samples.
        gamma, beta: floating, of the shape of the first axes of a sample: scale and shift.
        mean: of the shape and dtype of `gamma`.
        var: of the shape and dtype of `gamma`.
        eps: added to the variance.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True):
        ...     y = F.fixed_batch_renormalization(np.array([[3.0]]), *[np.ones(1)] * 4, eps=0)
        >>> y.array
        array([[3.]])

    Source: `chainer.functions.fixed_batch_renormalization` of Chainer 7.8.1.
    """
    text = "fixed_batch_renormalization is deprecated. Use fixed_batch_normalization instead."
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return batch_normalization.fixed_batch_normalization(x, gamma, beta, mean, var, eps)
