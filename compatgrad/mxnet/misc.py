"""Schedulers of before `mxnet.lr_scheduler`, called with an iteration's number."""

from __future__ import annotations

import logging

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler:
    """Base class: a callable from an iteration's number to the learning rate; starts from `base_lr`."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(iteration)")


class FactorScheduler(LearningRateScheduler):
    """Multiplies the rate by `factor` (below 1) every `step` iterations; ValueError for other arguments."""

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise ValueError(f"step: must be at least 1, got {step}")
        if factor >= 1.0:
            raise ValueError(f"factor: must be less than 1 to make the learning rate fall, got {factor}")
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        if not self.init:
            self.init = True
            self.old_lr = self.base_lr
        lr = self.base_lr * self.factor ** int(iteration / self.step)
        if lr != self.old_lr:
            self.old_lr = lr
            logging.info("Iteration %d: the learning rate is now %.5f", iteration, lr)
        return lr
