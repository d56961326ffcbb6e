"""Schedulers of before `mxnet.lr_scheduler`, called with an iteration's number."""

from __future__ import annotations

import logging

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler:
    """Base class of the schedulers from before `mxnet.lr_scheduler`.

    A subclass defines `__call__`, which gives the learning rate from an iteration's number and `base_lr`, 0.01 at
    first.

    Example:
        >>> from compatgrad.mxnet import misc  # mxnet.misc
        >>> class Half(misc.LearningRateScheduler):
        ...     def __call__(self, iteration): return self.base_lr / 2
        >>> Half()(7)
        0.005

    Source: `mxnet.misc.LearningRateScheduler` of MXNet 1.9.1.
    """

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(iteration)")


class FactorScheduler(LearningRateScheduler):
    """Multiplies the learning rate by a factor, again and again.

    Args:
        step: number of iterations after each of which the rate changes, at least 1.
        factor: what the rate is multiplied by, less than 1.

    Raises:
        ValueError: `step` is below 1, or `factor` is not below 1.

    Example:
        >>> from compatgrad.mxnet import misc  # mxnet.misc
        >>> schedule = misc.FactorScheduler(step=2, factor=0.5)
        >>> [schedule(n) for n in range(5)]
        [0.01, 0.01, 0.005, 0.005, 0.0025]

    Source: `mxnet.misc.FactorScheduler` of MXNet 1.9.1.
    """

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
