"""Optimizers with a learning rate for each element: Adam and its variants, AdaGrad, RMSProp, AdaDelta, FTRL."""

from __future__ import annotations

import math
import os
from typing import Any

from ..ndarray import NDArray
from ..ndarray._update_rules import lamb, power
from ._base import RuleOptimizer, register, zeros_like

__all__ = ["FTML", "LAMB", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSProp"]


class _TwoMoments(RuleOptimizer):
    # states: averages of gradients and of their squares

    def __init__(self, learning_rate: float, beta1: float, beta2: float, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight), zeros_like(weight)


@register
class Adam(_TwoMoments):
    """Adam: steps by a moving average of gradients, divided by the square root of a moving average of their squares.

    The weight decay is part of the gradient; epsilon is added to the root of the uncorrected second average.

    Args:
        learning_rate: the rate.
        beta1, beta2: decays of the averages of gradients and of squares.
        epsilon: what is added to the root.
        lazy_update: with gradients of storage type row_sparse, rows without a gradient stay as they are.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.9], dtype=float32)

    Source: `mxnet.optimizer.Adam` of MXNet 1.9.1; Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014.
    """

    _rule = "mx_adam"

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, **kwargs)
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def _hypers(self, lr, wd, t):
        lr *= math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
        return *self._common(lr, wd), self.beta1, self.beta2, self.epsilon


@register
class Adamax(_TwoMoments):
    """Adam in which the largest gradient so far, which decays, replaces the root of the second average.

    Args:
        learning_rate: the rate.
        beta1: decay of the average of gradients.
        beta2: decay of the largest gradient.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.Adamax(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.9], dtype=float32)

    Source: `mxnet.optimizer.Adamax` of MXNet 1.9.1; Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014,
        section 7.
    """

    _rule = "mx_adamax"
    _rounds = False
    _TINY = 1e-37  # added to the divisor: where all gradients were 0, the step is 0 and not NaN

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any) -> None:
        super().__init__(learning_rate, beta1, beta2, **kwargs)

    def _hypers(self, lr, wd, t):
        lr /= 1.0 - self.beta1**t
        return *self._common(lr, wd), self.beta1, 1.0 - self.beta1, self.beta2, self._TINY


@register
class Nadam(_TwoMoments):
    """Adam with Nesterov's momentum, whose beta1 grows with the number of updates.

    The product of these beta1, `m_schedule`, grows with the update of every weight, as in the original.

    Args:
        learning_rate: the rate.
        beta1, beta2: decays of the averages of gradients and of squares.
        epsilon: what is added to the root.
        schedule_decay: how fast beta1 grows.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.Nadam(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.8944], dtype=float32)

    Source: `mxnet.optimizer.Nadam` of MXNet 1.9.1; Dozat, Incorporating Nesterov Momentum into Adam, 2016.
    """

    _rule = "mx_nadam"
    _rounds = False

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
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
    """Follow the moving leader.

    Args:
        beta1: decay of the leader.
        beta2: decay of the average of squared gradients.
        epsilon: what is added to its root.
        **kwargs: arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.FTML(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.9], dtype=float32)

    Source: `mxnet.optimizer.FTML` of MXNet 1.9.1; Zheng and Kwok, Follow the Moving Leader in Deep Learning, 2017.
    """

    _rule = "mx_ftml"

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight), zeros_like(weight), zeros_like(weight)

    def _hypers(self, lr, wd, t):
        powers = power(self.beta1, t), power(self.beta2, t)
        return *self._common(lr, wd), self.beta1, self.beta2, self.epsilon, *powers


@register
class LAMB(_TwoMoments):
    """Adam whose step, including the weight decay, is scaled for each weight to the weight's norm.

    Args:
        learning_rate: the rate.
        beta1, beta2: decays of the averages of gradients and of squares.
        epsilon: what is added to the root.
        lower_bound, upper_bound: bounds of the weight's norm; None for none.
        bias_correction: whether averages are corrected as in Adam.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.LAMB(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.9], dtype=float32)

    Source: `mxnet.optimizer.LAMB` of MXNet 1.9.1; You et al., Large Batch Optimization for Deep Learning: Training BERT
        in 76 Minutes, 2019.
    """

    _rule = "mx_lamb_direction"
    _counts_together = False

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
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
    """Steps by gradients divided by the root of the sum of their squares so far; the weight decay is separate.

    Args:
        eps: what is added under the root.
        **kwargs: arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.AdaGrad(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.9], dtype=float32)

    Source: `mxnet.optimizer.AdaGrad` of MXNet 1.9.1; Duchi, Hazan and Singer, Adaptive Subgradient Methods for Online
        Learning and Stochastic Optimization, 2011.
    """

    _rule = "mx_adagrad"
    _rounds = False

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight)

    def _hypers(self, lr, wd, t):
        return *self._common(lr, wd), self.float_stable_eps


@register
class RMSProp(RuleOptimizer):
    """Steps by gradients divided by the root of a moving average of their squares.

    Args:
        learning_rate: the rate.
        gamma1: decay of the average.
        gamma2: the momentum, where `centered`.
        epsilon: what is added under the root.
        centered: divides gradients by their standard deviation instead, and uses a momentum.
        clip_weights: bound of the weights' elements; None for none.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.RMSProp(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.6838], dtype=float32)

    Source: `mxnet.optimizer.RMSProp` of MXNet 1.9.1; Tieleman and Hinton, Lecture 6.5 of Neural Networks for Machine
        Learning, 2012; Graves, Generating Sequences with Recurrent Neural Networks, 2013, for `centered`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: NDArray) -> Any:
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
    """Steps by gradients times root(average of squared steps) / root(average of squared gradients).

    There is no learning rate; the decay is wd * weight at each step.

    Args:
        rho: decay of the averages.
        epsilon: what is added under the roots.
        **kwargs: arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.AdaDelta())(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.99], dtype=float32)

    Source: `mxnet.optimizer.AdaDelta` of MXNet 1.9.1; Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012.
    """

    _rule = "mx_adadelta"
    _rounds = False

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight), zeros_like(weight)

    def _hypers(self, lr, wd, t):
        return *self._common(lr, wd), self.rho, 1.0 - self.rho, self.epsilon


@register
class Ftrl(RuleOptimizer):
    """Follow the regularized leader, with rates lr / (beta + root of the sum of squared gradients).

    Args:
        lamda1: the L1 penalty.
        learning_rate: the rate.
        beta: see above.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.Ftrl(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.2993], dtype=float32)

    Source: `mxnet.optimizer.Ftrl` of MXNet 1.9.1; McMahan et al., Ad Click Prediction: a View from the Trenches, 2013.
    """

    _rule = "mx_ftrl"

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight), zeros_like(weight)

    def _hypers(self, lr, wd, t):
        return *self._common(lr, wd), self.lamda1, self.beta
