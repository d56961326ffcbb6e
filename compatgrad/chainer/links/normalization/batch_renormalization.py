import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import configuration
from compatgrad.chainer.links.normalization.batch_normalization import BatchNormalization


class BatchRenormalization(BatchNormalization):
    """Batch renormalisation (https://arxiv.org/abs/1702.03275): corrections r and d, bounded by `rmax` and
    `dmax`."""

    def __init__(
        self,
        size,
        rmax=1,
        dmax=0,
        decay=0.9,
        eps=2e-5,
        dtype=None,
        use_gamma=True,
        use_beta=True,
        initial_gamma=None,
        initial_beta=None,
        initial_avg_mean=None,
        initial_avg_var=None,
    ):
        # The original hands initial_avg_mean over as `axis` and initial_avg_var as `initial_avg_mean`: here
        # they arrive.
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

    def forward(self, x, finetune=False):
        """Normalises `x`. See `BatchNormalization`."""
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
