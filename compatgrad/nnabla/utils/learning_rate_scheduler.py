"""Learning rates as functions of the iteration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class BaseLearningRateScheduler:
    """Base class of learning rates as functions of the iteration: a subclass defines `get_learning_rate`.

    Example:
        >>> from compatgrad.nnabla.utils.learning_rate_scheduler import BaseLearningRateScheduler
        >>> class Inverse(BaseLearningRateScheduler):
        ...     def get_learning_rate(self, iter):
        ...         return 1 / (iter + 1)
        >>> Inverse().get_learning_rate(3)
        0.25

    Source: `nnabla.utils.learning_rate_scheduler.BaseLearningRateScheduler` of nnabla 1.39.0.
    """

    def get_learning_rate(self, iter: int) -> float:
        """The learning rate (float) of iteration `iter`, counted from 0."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_learning_rate")


class PolynomialScheduler(BaseLearningRateScheduler):
    """Decreases the learning rate to 0 at `max_iter`: init_lr * (1 - iter / max_iter) ** power.

    Args:
        init_lr: the learning rate of iteration 0.
        max_iter: the iteration at which the learning rate is 0.
        power: the exponent; 1 decreases the learning rate linearly.

    Example:
        >>> from compatgrad.nnabla.utils.learning_rate_scheduler import PolynomialScheduler
        >>> rate = PolynomialScheduler(init_lr=0.5, max_iter=4, power=1)
        >>> [rate.get_learning_rate(i) for i in range(5)]
        [0.5, 0.375, 0.25, 0.125, 0.0]

    Source: `nnabla.utils.learning_rate_scheduler.PolynomialScheduler` of nnabla 1.39.0.
    """

    def __init__(self, init_lr: float, max_iter: int, power: float) -> None:
        self.init_lr = init_lr
        self.max_iter = max_iter
        self.power = power

    def get_learning_rate(self, iter: int) -> float:
        return self.init_lr * (1.0 - iter / self.max_iter) ** self.power


class CosineScheduler(BaseLearningRateScheduler):
    """Decreases the learning rate to 0 along half a period of a cosine: init_lr * (1 + cos(pi * iter / max_iter)) / 2.

    Args:
        init_lr: the learning rate of iteration 0.
        max_iter: the iteration at which the learning rate is 0.

    Example:
        >>> from compatgrad.nnabla.utils.learning_rate_scheduler import CosineScheduler
        >>> rate = CosineScheduler(init_lr=0.5, max_iter=4)
        >>> [round(rate.get_learning_rate(i), 3) for i in range(5)]
        [0.5, 0.427, 0.25, 0.073, 0.0]

    Source: `nnabla.utils.learning_rate_scheduler.CosineScheduler` of nnabla 1.39.0; Loshchilov and Hutter, 2016.
    """

    def __init__(self, init_lr: float, max_iter: int) -> None:
        self.init_lr = init_lr
        self.max_iter = max_iter

    def get_learning_rate(self, iter: int) -> float:
        return self.init_lr * (0.5 * (1.0 + math.cos(math.pi * iter / self.max_iter)))


class ExponentialScheduler(BaseLearningRateScheduler):
    """Multiplies the learning rate by `gamma` every `iter_interval` iterations.

    Args:
        init_lr: the learning rate of iteration 0.
        gamma: the factor.
        iter_interval: the number of iterations between two multiplications.

    Example:
        >>> from compatgrad.nnabla.utils.learning_rate_scheduler import ExponentialScheduler
        >>> rate = ExponentialScheduler(init_lr=0.5, gamma=0.5, iter_interval=2)
        >>> [rate.get_learning_rate(i) for i in range(5)]
        [0.5, 0.5, 0.25, 0.25, 0.125]

    Source: `nnabla.utils.learning_rate_scheduler.ExponentialScheduler` of nnabla 1.39.0.
    """

    def __init__(self, init_lr: float, gamma: float, iter_interval: int = 1) -> None:
        self.init_lr = init_lr
        self.gamma = gamma
        self.iter_interval = iter_interval

    def get_learning_rate(self, iter: int) -> float:
        return self.init_lr * self.gamma ** (iter // self.iter_interval)


class StepScheduler(BaseLearningRateScheduler):
    """Multiplies the learning rate by `gamma` at each of the iterations `iter_steps`.

    Args:
        init_lr: the learning rate of iteration 0.
        gamma: the factor.
        iter_steps: the iterations at which the learning rate is multiplied.

    Example:
        >>> from compatgrad.nnabla.utils.learning_rate_scheduler import StepScheduler
        >>> rate = StepScheduler(init_lr=0.5, gamma=0.5, iter_steps=[1, 3])
        >>> [rate.get_learning_rate(i) for i in range(5)]
        [0.5, 0.25, 0.25, 0.125, 0.125]

    Source: `nnabla.utils.learning_rate_scheduler.StepScheduler` of nnabla 1.39.0.
    """

    def __init__(self, init_lr: float, gamma: float, iter_steps: Sequence[int]) -> None:
        self.init_lr = init_lr
        self.gamma = gamma
        self.iter_steps = iter_steps

    def get_learning_rate(self, iter: int) -> float:
        lr = self.init_lr
        for step in self.iter_steps:
            if step <= iter:
                lr *= self.gamma
        return lr


class LinearWarmupScheduler(BaseLearningRateScheduler):
    """Multiplies another scheduler's learning rates by (iter + 1) / warmup_iter during the first `warmup_iter`
    iterations.

    Args:
        scheduler: the scheduler whose learning rates are multiplied.
        warmup_iter: the number of iterations with a reduced learning rate.

    Example:
        >>> from compatgrad.nnabla.utils.learning_rate_scheduler import ExponentialScheduler, LinearWarmupScheduler
        >>> rate = LinearWarmupScheduler(ExponentialScheduler(0.5, gamma=1.0), warmup_iter=4)
        >>> [rate.get_learning_rate(i) for i in range(5)]
        [0.125, 0.25, 0.375, 0.5, 0.5]

    Source: `nnabla.utils.learning_rate_scheduler.LinearWarmupScheduler` of nnabla 1.39.0.
    """

    def __init__(self, scheduler: BaseLearningRateScheduler, warmup_iter: int) -> None:
        self.scheduler = scheduler
        self.warmup_iter = warmup_iter

    def get_learning_rate(self, iter: int) -> float:
        lr = self.scheduler.get_learning_rate(iter)
        return lr * (iter + 1) / self.warmup_iter if iter < self.warmup_iter else lr
