"""Exponential decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class ExponentialShift(_shift.Shift):
    """Sets an attribute of an optimizer to init * rate ** t: exponential decay of a learning rate. t is the number of
    its calls, which snapshots contain.

    Args:
        attr: name of the attribute, as "lr" or "alpha".
        rate: factor of each call.
        init: value before the first call; None takes the optimizer's.
        target: value at which the shift ends; None for no end.
        optimizer: the optimizer; None takes the main one of the trainer's updater.

    Raises:
        ValueError: `rate` is negative.

    Example:
        >>> opt = chainer.optimizers.SGD(lr=1.0)
        >>> shift = chainer.training.extensions.ExponentialShift("lr", 0.5, target=0.25, optimizer=opt)
        >>> shift.initialize(None)
        >>> for _ in range(3):
        ...     shift(None)
        ...     print(opt.lr)
        0.5
        0.25
        0.25

    Source: `chainer.training.extensions.ExponentialShift` of Chainer 7.8.1.
    """

    def __init__(
        self,
        attr: str,
        rate: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        if rate < 0:
            raise ValueError(f"ExponentialShift does not support negative rate. Actual: {rate}")
        super().__init__(attr, init, target, optimizer)
        self._rate = rate
        self._increasing = rate > 1

    def _compute_value(self, t):
        return self._init * self._rate**t
