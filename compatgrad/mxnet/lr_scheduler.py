"""Learning rates as functions of the number of updates."""

from __future__ import annotations

import logging
from math import cos, pi

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """Base class: a callable from the number of updates (the largest of any weight) to the learning rate.

    base_lr: the rate at the start. The first `warmup_steps` updates have a rate that rises in equal steps from
    `warmup_begin_lr` ("linear"), or stays there (`warmup_mode` "constant"). ValueError where `warmup_begin_lr` is above
    `base_lr` or the mode is another one; AssertionError where `warmup_steps` is not an int.

    Schedulers keep the present rate in `base_lr`; an optimizer with a `learning_rate` of its own writes it there.
    """

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        assert isinstance(warmup_steps, int), f"warmup_steps: expected int, got {type(warmup_steps).__name__}"
        if warmup_begin_lr > base_lr:
            raise ValueError(f"Base lr has to be higher than warmup_begin_lr, got {base_lr} and {warmup_begin_lr}")
        if warmup_steps < 0:
            raise ValueError(f"Warmup steps has to be positive or 0, got {warmup_steps}")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError(f"Supports only linear and constant modes of warmup, got {warmup_mode!r}")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update):
        """The rate at update `num_update` < `warmup_steps` (AssertionError for a later one)."""
        assert num_update < self.warmup_steps, f"update {num_update} is after the {self.warmup_steps} of the warm-up"
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        if self.warmup_mode != "linear":
            raise ValueError(f"Invalid warmup mode {self.warmup_mode}")
        span = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + span * float(num_update) / float(self.warmup_steps)

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self._after_warmup(num_update)

    def _after_warmup(self, num_update):
        raise NotImplementedError(f"{type(self).__name__} must define __call__(num_update)")


def _check_factor(factor):
    if factor > 1.0:
        raise ValueError(f"Factor must be no more than 1 to make lr reduce, got {factor}")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` (at most 1) every `step` updates, but not below `stop_factor_lr`."""

    def __init__(
        self,
        step,
        factor=1,
        stop_factor_lr=1e-8,
        base_lr=0.01,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError(f"Schedule step must be greater or equal than 1 round, got {step}")
        _check_factor(factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def _after_warmup(self, num_update):
        while num_update > self.count + self.step:  # several at once where training resumes
            self.count += self.step
            self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
            logging.info("Update[%d]: the learning rate is now %0.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` (at most 1) after each of the updates in the increasing list `step`."""

    def __init__(self, step, factor=1, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        assert isinstance(step, list) and step, f"step: expected a list of at least one int, got {step!r}"
        if any(later <= earlier for earlier, later in zip(step, step[1:], strict=False)):
            raise ValueError(f"Schedule step must be an increasing integer list, got {step}")
        if step[0] < 1:
            raise ValueError(f"Schedule step must be greater or equal than 1 round, got {step}")
        _check_factor(factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def _after_warmup(self, num_update):
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update[%d]: the learning rate is now %0.5e", num_update, self.base_lr)
        return self.base_lr


class _ToFinal(LRScheduler):
    # from the base rate down to `final_lr` at update `max_update`, where it stays

    def __init__(self, max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        assert isinstance(max_update, int), f"max_update: expected int, got {type(max_update).__name__}"
        if max_update < 1:
            raise ValueError(f"maximum number of updates must be strictly positive, got {max_update}")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def _share(self, done):
        raise NotImplementedError

    def _after_warmup(self, num_update):
        if num_update <= self.max_update:
            share = self._share(num_update - self.warmup_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * share
        return self.base_lr


class PolyScheduler(_ToFinal):
    """The rate falls to `final_lr` at update `max_update` (int) as (1 - share of updates done) ** `pwr`."""

    def __init__(
        self,
        max_update,
        base_lr=0.01,
        pwr=2,
        final_lr=0,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _share(self, done):
        return pow(1 - float(done) / float(self.max_steps), self.power)


class CosineScheduler(_ToFinal):
    """The rate falls to `final_lr` at update `max_update` (int) along half a period of the cosine."""

    def __init__(self, max_update, base_lr=0.01, final_lr=0, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _share(self, done):
        return (1 + cos(pi * done / self.max_steps)) / 2
