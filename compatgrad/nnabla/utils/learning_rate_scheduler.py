"""Learning rates as functions of the iteration."""

import math


class BaseLearningRateScheduler:
    """Base class: a subclass defines `get_learning_rate`."""

    def get_learning_rate(self, iter):
        """The learning rate (float) of iteration `iter`, counted from 0."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_learning_rate")


class PolynomialScheduler(BaseLearningRateScheduler):
    """From `init_lr` to 0 at `max_iter`: init_lr * (1 - iter / max_iter) ** power."""

    def __init__(self, init_lr, max_iter, power):
        self.init_lr = init_lr
        self.max_iter = max_iter
        self.power = power

    def get_learning_rate(self, iter):
        return self.init_lr * (1.0 - iter / self.max_iter) ** self.power


class CosineScheduler(BaseLearningRateScheduler):
    """Half a period of a cosine, from `init_lr` to 0 at `max_iter`."""

    def __init__(self, init_lr, max_iter):
        self.init_lr = init_lr
        self.max_iter = max_iter

    def get_learning_rate(self, iter):
        return self.init_lr * (0.5 * (1.0 + math.cos(math.pi * iter / self.max_iter)))


class ExponentialScheduler(BaseLearningRateScheduler):
    """`init_lr`, multiplied by `gamma` every `iter_interval` iterations."""

    def __init__(self, init_lr, gamma, iter_interval=1):
        self.init_lr = init_lr
        self.gamma = gamma
        self.iter_interval = iter_interval

    def get_learning_rate(self, iter):
        return self.init_lr * self.gamma ** (iter // self.iter_interval)


class StepScheduler(BaseLearningRateScheduler):
    """`init_lr`, multiplied by `gamma` at each of the iterations `iter_steps`."""

    def __init__(self, init_lr, gamma, iter_steps):
        self.init_lr = init_lr
        self.gamma = gamma
        self.iter_steps = iter_steps

    def get_learning_rate(self, iter):
        lr = self.init_lr
        for step in self.iter_steps:
            if step <= iter:
                lr *= self.gamma
        return lr


class LinearWarmupScheduler(BaseLearningRateScheduler):
    """Another scheduler's rates, during the first `warmup_iter` iterations times (iter + 1) / warmup_iter."""

    def __init__(self, scheduler, warmup_iter):
        self.scheduler = scheduler
        self.warmup_iter = warmup_iter

    def get_learning_rate(self, iter):
        lr = self.scheduler.get_learning_rate(iter)
        return lr * (iter + 1) / self.warmup_iter if iter < self.warmup_iter else lr
