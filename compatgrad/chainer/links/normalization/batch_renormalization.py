from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import configuration
from compatgrad.chainer.links.normalization.batch_normalization import BatchNormalization

if TYPE_CHECKING:
    from compatgrad.chainer._typing import DType, Initializer, Shape, VariableOrArray
    from compatgrad.chainer.variable import Variable


class BatchRenormalization(BatchNormalization):
    """Batch normalization whose result in training is corrected towards the running statistics: (x - mean) / std * r +
    d, with r and d bounded by `rmax` and `dmax` and without gradients. Parameters and statistics are those of
    `BatchNormalization`.

    Args:
        size: shape of gamma, beta and the statistics: the number of channels.
        rmax: r lies in [1 / rmax, rmax].
        dmax: d lies in [-dmax, dmax].
        decay: factor by which the running statistics keep their old values in each step.
        eps: added to the variance, so that nothing is divided by zero.
        dtype: of the parameters and statistics; None is `chainer.config.dtype`.
        use_gamma: False leaves out the factor gamma.
        use_beta: False leaves out the summand beta.
        initial_gamma: initializer of gamma; None is 1.
        initial_beta: initializer of beta; None is 0.
        initial_avg_mean: initializer of the running mean; None is 0.
        initial_avg_var: initializer of the running variance; None is 1.

    Example:
        >>> link = L.BatchRenormalization(1, rmax=3, dmax=5)
        >>> link(np.array([[1], [3]], np.float32)).shape
        (2, 1)

    Source: `chainer.links.BatchRenormalization` of Chainer 7.8.1; Ioffe, 2017.
    """

    def __init__(
        self,
        size: Shape,
        rmax: float = 1,
        dmax: float = 0,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: DType | None = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Initializer = None,
        initial_beta: Initializer = None,
        initial_avg_mean: Initializer = None,
        initial_avg_var: Initializer = None,
    ) -> None:
        # By keyword: Chainer passes initial_avg_mean as `axis` and initial_avg_var as `initial_avg_mean`, by mistake.
        super().__init__(
            size,
            decay,
            eps,
            dtype,
            use_gamma,
            use_beta,
            initial_gamma,
            initial_beta,
            initial_avg_mean=initial_avg_mean,
            initial_avg_var=initial_avg_var,
        )
        self.rmax = rmax
        self.dmax = dmax
        self.r = None
        self.d = None

    def forward(self, x: VariableOrArray, finetune: bool = False) -> Variable:
        """Normalizes `x`. See `BatchNormalization`."""
        gamma = self._constant(1, x.dtype) if self.gamma is None else self.gamma
        beta = self._constant(0, x.dtype) if self.beta is None else self.beta
        mean, var = self.avg_mean, self.avg_var
        if not configuration.config.train:
            return F.fixed_batch_normalization(x, gamma, beta, mean, var, self.eps)
        decay, recomputing = self._start_step(finetune)
        if recomputing:
            mean, var = self._prev_avg_mean, self._prev_avg_var
        elif chainer.config._will_recompute:
            self._prev_avg_mean, self._prev_avg_var = mean.copy(), var.copy()
        return F.batch_renormalization(
            x,
            gamma,
            beta,
            self.rmax,
            self.dmax,
            self.eps,
            mean,
            var,
            decay,
            update_statistics=not recomputing,
        )
