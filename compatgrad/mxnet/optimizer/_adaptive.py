"""Optimizers with rates of their own for each element: Adam and its relatives, AdaGrad, RMSProp, FTRL."""

from __future__ import annotations

import math
import os

from ..ndarray._update_rules import lamb, power
from ._base import RuleOptimizer, register, zeros_like

__all__ = ["FTML", "LAMB", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSProp"]


class _TwoMoments(RuleOptimizer):
    # states: averages of gradients and of their squares

    def __init__(self, learning_rate, beta1, beta2, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight)


@register
class Adam(_TwoMoments):
    """Adam. The decay is part of the gradient, epsilon is added to the root of the uncorrected second moment.

    lazy_update: with gradients of storage type row_sparse, rows without a gradient stay as they are.
    """

    _rule = "mx_adam"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, lazy_update=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, **kwargs)
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def _hypers(self, lr, wd, t):
        lr *= math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
        return *self._common(lr, wd), self.beta1, self.beta2, self.epsilon


@register
class Adamax(_TwoMoments):
    """Adam with the largest gradient, decaying with beta2, in place of the second moment's root."""

    _rule = "mx_adamax"
    _rounds = False
    _TINY = 1e-37  # where all gradients were 0: the step is 0 too

    def __init__(self, learning_rate=0.002, beta1=0.9, beta2=0.999, **kwargs):
        super().__init__(learning_rate, beta1, beta2, **kwargs)

    def _hypers(self, lr, wd, t):
        lr /= 1.0 - self.beta1**t
        return *self._common(lr, wd), self.beta1, 1.0 - self.beta1, self.beta2, self._TINY


@register
class Nadam(_TwoMoments):
    """Adam with Nesterov's momentum, whose beta1 grows with the number of updates by `schedule_decay`.

    The product of these beta1, `m_schedule`, grows with the update of every weight, as in the original.
    """

    _rule = "mx_nadam"
    _rounds = False

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, schedule_decay=0.004, **kwargs):
        super().__init__(learning_rate, beta1, beta2, **kwargs)
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _constants(self, lrs, wds, ts):
        return [self._hypers(lr, wd, t) for lr, wd, t in zip(lrs, wds, ts, strict=True)]

    def _hypers(self, lr, wd, t):
        now, then = (self.beta1 * (1.0 - 0.5 * 0.96 ** (n * self.schedule_decay)) for n in (t, t + 1))
        self.m_schedule *= now
        of_grad = (1.0 - now) / (1.0 - self.m_schedule)
        of_mean = then / (1.0 - self.m_schedule * then)
        betas = self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2
        return *self._common(lr, wd), *betas, of_grad, of_mean, 1.0 - self.beta2**t, self.epsilon


@register
class FTML(RuleOptimizer):
    """Follow the moving leader."""

    _rule = "mx_ftml"

    def __init__(self, beta1=0.6, beta2=0.999, epsilon=1e-8, **kwargs):
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight), zeros_like(weight)

    def _hypers(self, lr, wd, t):
        powers = power(self.beta1, t), power(self.beta2, t)
        return *self._common(lr, wd), self.beta1, self.beta2, self.epsilon, *powers


@register
class LAMB(_TwoMoments):
    """Adam whose step, decay included, is scaled for each layer to the norm of the weight.

    lower_bound, upper_bound: bounds of that norm. bias_correction: whether moments are corrected as in Adam.
    """

    _rule = "mx_lamb_direction"
    _counts_together = False

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        lower_bound=None,
        upper_bound=None,
        bias_correction=True,
        **kwargs,
    ):
        super().__init__(learning_rate, beta1, beta2, **kwargs)
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = max(1, min(45, int(os.getenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", "45"))))

    def _hypers(self, lr, wd, t):
        powers = (power(self.beta1, t), power(self.beta2, t)) if self.bias_correction else (0.0, 0.0)
        return *self._common(0.0, wd), self.beta1, self.beta2, self.epsilon, *powers

    def _run(self, indices, weights, grads, states, lrs, wds, ts, copies=None):
        constants = self._constants([0.0] * len(lrs), wds, ts)
        bounds = self.lower_bound or None, self.upper_bound or None
        lamb("LAMB", weights, grads, states, constants, lrs, bounds, copies)


@register
class AdaGrad(RuleOptimizer):
    """Gradients by the root of the sum of their squares so far, plus eps; the decay is beside that."""

    _rule = "mx_adagrad"
    _rounds = False

    def __init__(self, eps=1e-7, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index, weight):
        return zeros_like(weight)

    def _hypers(self, lr, wd, t):
        return *self._common(lr, wd), self.float_stable_eps


@register
class RMSProp(RuleOptimizer):
    """Gradients by the root of an average (of decay gamma1) of their squares plus epsilon.

    centered: by their standard deviation, and with a momentum gamma2. clip_weights: bound of the weights' elements.
    """

    def __init__(
        self, learning_rate=0.001, gamma1=0.9, gamma2=0.9, epsilon=1e-8, centered=False, clip_weights=None, **kwargs
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index, weight):
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    @property
    def _rule(self):
        return "mx_rmspropalex" if self.centered else "mx_rmsprop"

    def _hypers(self, lr, wd, t):
        bound = self.clip_weights if self.clip_weights and self.clip_weights > 0 else math.inf
        constants = *self._common(lr, wd), self.gamma1, self.epsilon, bound
        return (*constants, self.gamma2) if self.centered else constants


@register
class AdaDelta(RuleOptimizer):
    """Gradients times the ratio of the roots of averages (of decay rho) of squared steps and squared gradients.

    There is no learning rate; the decay is wd * weight at each step.
    """

    _rule = "mx_adadelta"
    _rounds = False

    def __init__(self, rho=0.90, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight)

    def _hypers(self, lr, wd, t):
        return *self._common(lr, wd), self.rho, 1.0 - self.rho, self.epsilon


@register
class Ftrl(RuleOptimizer):
    """Follow the regularized leader, with an L1 penalty `lamda1`; rates are lr / (beta + root of squared gradients)."""

    _rule = "mx_ftrl"

    def __init__(self, lamda1=0.01, learning_rate=0.1, beta=1, **kwargs):
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight)

    def _hypers(self, lr, wd, t):
        return *self._common(lr, wd), self.lamda1, self.beta
