"""Gradient descent and its variants: SGD, NAG, Signum, SGLD, DCASGD, LBSGD, LARS."""

from __future__ import annotations

import logging
import math
import os
from typing import Any

from .. import ndarray
from ..ndarray import NDArray
from ..ndarray._update_rules import norms, run_rule
from ._base import RuleOptimizer, register, zeros_like

__all__ = ["DCASGD", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "Signum", "ccSGD"]


class _Momentum(RuleOptimizer):
    # the state is the momentum, or None; with a copy in single precision the pair (state, copy)
    _copy_last = True

    def __init__(self, momentum: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight) if self.momentum != 0.0 else None

    @property
    def _with_clip(self):
        return "_clip" if self.clip_gradient is not None and self.clip_gradient > 0 else ""

    def _has_momentum(self):
        return self.momentum > 0

    @property
    def _rule(self):
        return ("mx_sgd_momentum" if self._has_momentum() else "mx_sgd") + self._with_clip

    def _hypers(self, lr, wd, t):
        return (*self._common(lr, wd), self.momentum) if self._has_momentum() else self._common(lr, wd)

    def _rule_states(self, states):
        return states if self._has_momentum() else [None] * len(states)


def _aggregate(default):
    return int(os.getenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", default))


@register
class SGD(_Momentum):
    """Gradient descent with momentum: v = momentum * v - lr * (grad + wd * weight); weight += v.

    Args:
        momentum: see above; 0 for none.
        lazy_update: with gradients of storage type row_sparse, rows without a gradient stay as they are.
        **kwargs: arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.95], dtype=float32)

    Source: `mxnet.optimizer.SGD` of MXNet 1.9.1.
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(momentum, **kwargs)
        self.lazy_update = lazy_update
        self.aggregate_num = _aggregate("4")


@register
class ccSGD(SGD):
    """SGD's older name.

    Args:
        *args: arguments of SGD by position.
        **kwargs: arguments of SGD by name.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.ccSGD(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.95], dtype=float32)

    Source: `mxnet.optimizer.ccSGD` of MXNet 1.9.1.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


@register
class NAG(_Momentum):
    """Nesterov's accelerated gradient: the step is computed where the momentum leads.

    Args:
        momentum: the momentum; 0 for none.
        **kwargs: arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.NAG(learning_rate=0.1, momentum=0.9))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.905], dtype=float32)

    Source: `mxnet.optimizer.NAG` of MXNet 1.9.1; Sutskever et al., On the Importance of Initialization and Momentum in
        Deep Learning, 2013.
    """

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(momentum, **kwargs)

    @property
    def _rule(self):
        return "mx_nag" if self._has_momentum() else "mx_sgd_op" + self._with_clip


@register
class Signum(_Momentum):
    """Steps of length lr in the direction of the sign of the momentum, or of the gradient without momentum.

    Args:
        learning_rate: the rate.
        momentum: the momentum; 0 for none.
        wd_lh: a weight decay beside the gradient, a factor of 1 - lr * wd_lh, where there is a momentum.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.Signum(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.9], dtype=float32)

    Source: `mxnet.optimizer.Signum` of MXNet 1.9.1; Bernstein et al., signSGD: Compressed Optimisation for Non-Convex
        Problems, 2018.
    """

    _copy_last = False

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any) -> None:
        super().__init__(momentum, learning_rate=learning_rate, **kwargs)
        self.wd_lh = wd_lh

    def _has_momentum(self):
        return self.momentum != 0

    @property
    def _rule(self):
        return "mx_signum" if self._has_momentum() else "mx_signsgd"

    def _hypers(self, lr, wd, t):
        common = self._common(lr, wd)
        return (*common, max(self.momentum, 0.0), self.wd_lh or 0.0) if self._has_momentum() else common


@register
class SGLD(RuleOptimizer):
    """Stochastic gradient Langevin dynamics: half a step of descent, and noise of variance lr.

    Args:
        rescale_grad, param_idx2name, wd, clip_gradient, learning_rate, lr_scheduler, sym, begin_num_update,
            multi_precision, param_dict: as in Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.shape
        (1,)

    Source: `mxnet.optimizer.SGLD` of MXNet 1.9.1; Welling and Teh, Bayesian Learning via Stochastic Gradient Langevin
        Dynamics, 2011.
    """

    _rounds = False
    lazy_update = False

    def create_state(self, index: Any, weight: NDArray) -> None:
        return None

    @property
    def _rule(self):
        return "mx_sgd" if self.clip_gradient is None else "mx_sgd_clip"

    def _hypers(self, lr, wd, t):
        return self._common(lr / 2, wd)

    _follows = False  # noise is added after the rule

    def _run(self, indices, weights, grads, states, lrs, wds, ts, copies=None):
        super()._run(indices, weights, grads, states, lrs, wds, ts)
        for w, lr in zip(weights, lrs, strict=True):
            noise = ndarray.random.normal(0, math.sqrt(lr), shape=w.shape, dtype=w.dtype, ctx=w.context)
            w.tensor.add_(noise.tensor)


@register
class DCASGD(RuleOptimizer):
    """Delay-compensated descent: the gradient is corrected by the distance that the weight moved since the last step.

    Args:
        momentum: the momentum; 0 for none.
        lamda: the share of the correction.
        **kwargs: arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.DCASGD(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.95], dtype=float32)

    Source: `mxnet.optimizer.DCASGD` of MXNet 1.9.1; Zheng et al., Asynchronous Stochastic Gradient Descent with Delay
        Compensation, 2016.
    """

    _rounds = False

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous = {}
        self.lamda = lamda

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight) if self.momentum != 0.0 else None, weight.copy()

    @property
    def _rule(self):
        return "mx_dcasgd_momentum" if self.momentum != 0.0 else "mx_dcasgd"

    def _hypers(self, lr, wd, t):
        return *self._common(lr, wd), self.lamda, self.momentum

    def _rule_states(self, states):
        return [(previous,) if v is None else (previous, v) for v, previous in states]


@register
class LBSGD(_Momentum):
    """SGD for large batches: gradients of several updates are averaged for one step.

    Args:
        momentum: the momentum; 0 for none.
        multi_precision: as in Optimizer.
        warmup_strategy: how the factor of the rate goes from 1 to `batch_scale`: "linear", "power2" or "sqrt"; "lars"
            takes the ratio of the norms of weight and gradient instead.
        warmup_epochs: number of epochs in which it does.
        batch_scale: number of updates that are averaged.
        updates_per_epoch: number of updates of an epoch.
        begin_epoch: the epoch at which training resumes.
        num_epochs: accepted, without effect.
        **kwargs: other arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.LBSGD(learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.95], dtype=float32)

    Source: `mxnet.optimizer.LBSGD` of MXNet 1.9.1.
    """

    lazy_update = False
    _follows = False  # gradients are converted to single precision, and added up, before the rule runs

    _copy_last = False

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: float = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum, multi_precision=multi_precision, **kwargs)
        logging.info(
            "LBSGD: batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d",
            batch_scale,
            warmup_epochs,
            warmup_strategy,
            updates_per_epoch,
        )
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.cumgrads = {}  # index -> number of gradients so far, and their sum since the last step

    @property
    def _rule(self):
        return ("mx_sgd_momentum" if self._has_momentum() else "mx_sgd_op") + self._with_clip

    def _get_lbmult(self, nup):
        # the factor of the rate after `nup` gradients
        warm, most = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if nup >= warm:
            return most
        if warm <= 1:
            return 1.0
        done = nup / warm
        shares = {"linear": done, "power2": done * done, "sqrt": math.sqrt(done)}
        return 1.0 + (most - 1) * shares.get(self.warmup_strategy, 0.0)

    def _get_lars(self, weight, grad, wd):
        of_weight, of_grad = (x**2 for x in norms([weight, grad]).tolist())
        return min(max(math.sqrt(of_weight / (of_grad + wd * of_weight + 1e-18)), 0.01), 100)

    def _apply(self, indices, weights, grads, states, copies=None):
        for i, w, g, s in zip(indices, weights, grads, states, strict=True):
            lr, wd = self._get_lr(i), self._get_wd(i)
            self._update_count(i)
            count, total = self.cumgrads.get(i, (self.init_updates, None))
            count += 1
            if count % self.batch_scale:
                # copied, because the next backward pass writes into the gradient's memory
                self.cumgrads[i] = count, g.tensor.clone() if total is None else total + g.tensor
                continue
            mean = NDArray((g.tensor if total is None else total + g.tensor) / self.batch_scale)
            self.cumgrads[i] = count, None
            lr *= self._get_lars(w, mean, wd) if self.warmup_strategy == "lars" else self._get_lbmult(count)
            self._run([i], [w], [mean], [s], [lr], [wd], [count])


@register
class LARS(_Momentum):
    """SGD whose rate is scaled for each weight by eta * |weight| / (|grad| + wd * |weight| + eps).

    Weights named ...gamma, ...beta and ...bias keep the rate, and only those named ..._weight decay.

    Args:
        momentum: the momentum; 0 for none.
        lazy_update: as in SGD.
        eta, eps: see above.
        momentum_correction: the momentum is scaled with changes of the rate.
        **kwargs: arguments of Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.LARS(learning_rate=0.1, eta=0.5))(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([0.95], dtype=float32)

    Source: `mxnet.optimizer.LARS` of MXNet 1.9.1; You, Gitman and Ginsburg, Large Batch Training of Convolutional
        Networks, 2017.
    """

    _decayed_names = ("_weight",)

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum, **kwargs)
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = _aggregate("4")
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr = None
        self.cur_lr = None

    def _get_lrs(self, indices):
        lr = self.learning_rate
        self.last_lr = lr if self.cur_lr is None else self.cur_lr
        self.cur_lr = lr
        return self._factors(lr, indices, "lr_mult", self.lr_mult)

    def _apply(self, indices, weights, grads, states, copies=None):
        # In the original's groups, because only the first group gets the correction: it changes the stored rate.
        size = max(1, self.aggregate_num)
        for k in range(0, len(indices), size):
            part = slice(k, k + size)
            own = None if copies is None else copies[part]
            super()._apply(indices[part], weights[part], grads[part], states[part], own)

    def _run(self, indices, weights, grads, states, lrs, wds, ts, copies=None):
        corrected = self.momentum
        if self.momentum_correction and self.last_lr != 0:
            corrected *= self.cur_lr / self.last_lr
        found, scaled = norms([*weights, *grads]).tolist(), []
        for i, of_weight, of_grad, lr, wd in zip(
            indices, found[: len(weights)], found[len(weights) :], lrs, wds, strict=True
        ):
            if not self.idx2name.get(i, str(i)).endswith(("gamma", "beta", "bias")):
                if of_weight > 0 and of_grad > 0:
                    lr *= self.eta * of_weight / (of_grad * self.rescale_grad + wd * of_weight + self.eps)
            scaled.append(lr)
        constants = [self._common(lr, wd) for lr, wd in zip(scaled, wds, strict=True)]
        if self._has_momentum():
            constants = [(*c, corrected) for c in constants]
        run_rule("LARS", self._rule, weights, grads, self._rule_states(states), constants, True, copies)
