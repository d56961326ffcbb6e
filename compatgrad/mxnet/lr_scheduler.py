"""Learning rates as functions of the number of updates."""

from __future__ import annotations

import logging
from math import cos, pi

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """Base class of schedulers: a callable from the number of updates (the largest of any weight) to the learning rate.

    Subclasses define `_after_warmup(num_update)`, or `__call__` for the whole course. Schedulers keep the present rate
    in `base_lr`.

    Args:
        base_lr: the rate after the warm-up; an optimizer with its own `learning_rate` writes it here.
        warmup_steps: number of updates of the warm-up; 0 for none.
        warmup_begin_lr: the rate at the start of the warm-up, at most `base_lr`.
        warmup_mode: "linear", the rate rises in equal steps to `base_lr`, or "constant", it stays at `warmup_begin_lr`.

    Raises:
        ValueError: `warmup_begin_lr` is above `base_lr`, `warmup_steps` is negative, or `warmup_mode` is neither.
        AssertionError: `warmup_steps` is no int.

    Example:
        >>> class Halved(mx.lr_scheduler.LRScheduler):
        ...     def __call__(self, num_update):
        ...         return self.base_lr * 0.5 ** num_update
        >>> halved = Halved(base_lr=0.8)
        >>> [halved(n) for n in range(3)]
        [0.8, 0.4, 0.2]

    Source: `mxnet.lr_scheduler.LRScheduler` of MXNet 1.9.1.
    """

    def __init__(
        self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear"
    ) -> None:
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

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate at an update of the warm-up.

        Args:
            num_update: number of the update, below `warmup_steps`.

        Raises:
            AssertionError: the update comes after the warm-up.
        """
        assert num_update < self.warmup_steps, f"update {num_update} is after the {self.warmup_steps} of the warm-up"
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        if self.warmup_mode != "linear":
            raise ValueError(f"Invalid warmup mode {self.warmup_mode}")
        span = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + span * float(num_update) / float(self.warmup_steps)

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self._after_warmup(num_update)

    def _after_warmup(self, num_update):
        raise NotImplementedError(f"{type(self).__name__} must define __call__(num_update)")


def _check_factor(factor):
    if factor > 1.0:
        raise ValueError(f"Factor must be no more than 1 to make lr reduce, got {factor}")


class FactorScheduler(LRScheduler):
    """Multiplies the learning rate by a factor every `step` updates.

    Args:
        step: number of updates between two changes, at least 1.
        factor: what the rate is multiplied by, at most 1.
        stop_factor_lr: the rate does not fall below it.
        base_lr: the rate after the warm-up; an optimizer with its own `learning_rate` writes it here.
        warmup_steps: number of updates of the warm-up; 0 for none.
        warmup_begin_lr: the rate at the start of the warm-up, at most `base_lr`.
        warmup_mode: "linear", the rate rises in equal steps to `base_lr`, or "constant", it stays at `warmup_begin_lr`.

    Raises:
        ValueError: `step` is below 1, `factor` above 1, or the warm-up is wrong as in LRScheduler.

    Example:
        >>> schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
        >>> [schedule(n) for n in range(1, 7)]
        [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]

    Source: `mxnet.lr_scheduler.FactorScheduler` of MXNet 1.9.1.
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
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
    """Multiplies the learning rate by a factor after given numbers of updates.

    Args:
        step: increasing numbers of updates, each at least 1; the rate changes after each of them.
        factor: what the rate is multiplied by, at most 1.
        base_lr: the rate after the warm-up; an optimizer with its own `learning_rate` writes it here.
        warmup_steps: number of updates of the warm-up; 0 for none.
        warmup_begin_lr: the rate at the start of the warm-up, at most `base_lr`.
        warmup_mode: "linear", the rate rises in equal steps to `base_lr`, or "constant", it stays at `warmup_begin_lr`.

    Raises:
        AssertionError: `step` is no list, or empty.
        ValueError: `step` does not increase or starts below 1, `factor` is above 1, or the warm-up is wrong as in
            LRScheduler.

    Example:
        >>> schedule = mx.lr_scheduler.MultiFactorScheduler([2, 4], factor=0.5, base_lr=1.0)
        >>> [schedule(n) for n in range(1, 7)]
        [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]

    Source: `mxnet.lr_scheduler.MultiFactorScheduler` of MXNet 1.9.1.
    """

    def __init__(
        self,
        step: list[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
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

    def __init__(
        self,
        max_update: int,
        base_lr: float,
        final_lr: float,
        warmup_steps: int,
        warmup_begin_lr: float,
        warmup_mode: str,
    ) -> None:
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
    """Lowers the rate by a power: final_lr + (base_lr - final_lr) * (1 - share of updates done) ** pwr.

    Args:
        max_update: the update at which the rate is `final_lr`, where it stays; at least 1, warm-up included.
        base_lr: the rate after the warm-up.
        pwr: the power.
        final_lr: the rate at the end.
        warmup_steps, warmup_begin_lr, warmup_mode: the warm-up, as in LRScheduler.

    Raises:
        AssertionError: `max_update` is no int.
        ValueError: `max_update` is below 1, or the warm-up is wrong as in LRScheduler.

    Example:
        >>> schedule = mx.lr_scheduler.PolyScheduler(max_update=4, base_lr=1.0, pwr=2)
        >>> [schedule(n) for n in range(6)]
        [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]

    Source: `mxnet.lr_scheduler.PolyScheduler` of MXNet 1.9.1.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _share(self, done):
        return pow(1 - float(done) / float(self.max_steps), self.power)


class CosineScheduler(_ToFinal):
    """Lowers the rate along half a period of the cosine, from `base_lr` to `final_lr`.

    Args:
        max_update: the update at which the rate is `final_lr`, where it stays; at least 1, warm-up included.
        base_lr: the rate after the warm-up.
        final_lr: the rate at the end.
        warmup_steps, warmup_begin_lr, warmup_mode: the warm-up, as in LRScheduler.

    Raises:
        AssertionError: `max_update` is no int.
        ValueError: `max_update` is below 1, or the warm-up is wrong as in LRScheduler.

    Example:
        >>> schedule = mx.lr_scheduler.CosineScheduler(max_update=4, base_lr=1.0)
        >>> [round(schedule(n), 3) for n in range(6)]
        [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]

    Source: `mxnet.lr_scheduler.CosineScheduler` of MXNet 1.9.1.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _share(self, done):
        return (1 + cos(pi * done / self.max_steps)) / 2
