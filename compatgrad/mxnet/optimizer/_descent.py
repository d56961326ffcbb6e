"""Gradient descent and its variants: SGD, NAG, Signum, SGLD, DCASGD, LBSGD, LARS."""

from __future__ import annotations

import logging
import math
import os

from .. import ndarray
from ..ndarray import NDArray
from ..ndarray._update_rules import norms, run_rule
from ._base import RuleOptimizer, register, zeros_like

__all__ = ["DCASGD", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "Signum", "ccSGD"]


class _Momentum(RuleOptimizer):
    # the state is a momentum, where there is one; the copy in single precision comes after it
    _copy_last = True

    def __init__(self, momentum, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index, weight):
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

    lazy_update: with gradients of storage type row_sparse, rows without a gradient stay as they are.
    """

    def __init__(self, momentum=0.0, lazy_update=True, **kwargs):
        super().__init__(momentum, **kwargs)
        self.lazy_update = lazy_update
        self.aggregate_num = _aggregate("4")


@register
class ccSGD(SGD):
    """Deprecated: SGD."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


@register
class NAG(_Momentum):
    """Nesterov's accelerated gradient: descent from where the momentum leads."""

    def __init__(self, momentum=0.0, **kwargs):
        super().__init__(momentum, **kwargs)

    @property
    def _rule(self):
        return "mx_nag" if self._has_momentum() else "mx_sgd_op" + self._with_clip


@register
class Signum(_Momentum):
    """Steps of length lr by the sign of the momentum, or of the gradient without momentum.

    wd_lh: a weight decay beside the gradient, of (1 - lr * wd_lh).
    """

    _copy_last = False

    def __init__(self, learning_rate=0.01, momentum=0.9, wd_lh=0.0, **kwargs):
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
    """Stochastic gradient Langevin dynamics: half a step of descent, and noise of variance lr."""

    _rounds = False
    lazy_update = False

    def create_state(self, index, weight):
        return None

    @property
    def _rule(self):
        return "mx_sgd" if self.clip_gradient is None else "mx_sgd_clip"

    def _hypers(self, lr, wd, t):
        return self._common(lr / 2, wd)

    _follows = False  # noise goes on top

    def _run(self, indices, weights, grads, states, lrs, wds, ts, copies=None):
        super()._run(indices, weights, grads, states, lrs, wds, ts)
        for w, lr in zip(weights, lrs, strict=True):
            noise = ndarray.random.normal(0, math.sqrt(lr), shape=w.shape, dtype=w.dtype, ctx=w.context)
            w.tensor.add_(noise.tensor)


@register
class DCASGD(RuleOptimizer):
    """Descent with compensation of delay: the gradient is corrected by how far the weight went since the last step.

    lamda: how much of it.
    """

    _rounds = False

    def __init__(self, momentum=0.0, lamda=0.04, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous = {}
        self.lamda = lamda

    def create_state(self, index, weight):
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
    """SGD for large batches: gradients of `batch_scale` updates are averaged for one step.

    warmup_strategy: how the rate's factor goes from 1 to `batch_scale` in `warmup_epochs` of `updates_per_epoch`
    updates: "linear", "power2" or "sqrt"; "lars" takes the ratio of the norms of weight and gradient instead.
    begin_epoch: where training resumes. num_epochs: how long it lasts.
    """

    lazy_update = False
    _follows = False  # gradients are summed up in single precision first

    def __init__(
        self,
        momentum=0.0,
        multi_precision=False,
        warmup_strategy="linear",
        warmup_epochs=5,
        batch_scale=1,
        updates_per_epoch=32,
        begin_epoch=0,
        num_epochs=60,
        **kwargs,
    ):
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
                # a copy: the gradient's memory is the next one's as well
                self.cumgrads[i] = count, g.tensor.clone() if total is None else total + g.tensor
                continue
            mean = NDArray((g.tensor if total is None else total + g.tensor) / self.batch_scale)
            self.cumgrads[i] = count, None
            lr *= self._get_lars(w, mean, wd) if self.warmup_strategy == "lars" else self._get_lbmult(count)
            self._run([i], [w], [mean], [s], [lr], [wd], [count])


@register
class LARS(_Momentum):
    """SGD whose rate is scaled for each layer by eta * |weight| / (|grad| + wd * |weight| + eps).

    Weights named ...gamma, ...beta and ...bias keep the rate, and only those named ..._weight decay.
    momentum_correction: the momentum is scaled with changes of the rate. lazy_update: as in SGD.
    """

    _decayed_names = ("_weight",)

    def __init__(self, momentum=0.0, lazy_update=True, eta=0.001, eps=0, momentum_correction=True, **kwargs):
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
        # In the original's groups: the correction is that of the first group only, as the rate has changed by then.
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
