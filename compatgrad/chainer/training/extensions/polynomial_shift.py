"""Polynomial decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class PolynomialShift(_shift.Shift):
    """Sets an attribute of an optimizer to init * max(1 - t / max_count, 0) ** rate: polynomial decay to 0. t is the
    number of its calls, which snapshots contain.

    Args:
        attr: name of the attribute, as "lr" or "alpha".
        rate: exponent of the decay.
        max_count: number of calls after which the value is 0.
        init: value before the first call; None takes the optimizer's.
        target: value at which the shift ends; None never ends it.
        optimizer: the optimizer; None takes the main one of the trainer's updater.

    Example:
        >>> opt = chainer.optimizers.SGD(lr=1.0)
        >>> shift = chainer.training.extensions.PolynomialShift("lr", 2, 4, optimizer=opt)
        >>> shift.initialize(None)
        >>> for _ in range(4):
        ...     shift(None)
        ...     print(opt.lr)
        0.5625
        0.25
        0.0625
        0.0

    Source: `chainer.training.extensions.PolynomialShift` of Chainer 7.8.1.
    """

    invoke_before_training = True

    def __init__(
        self,
        attr: str,
        rate: float,
        max_count: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__(attr, init, target, optimizer)
        self._rate = rate
        self._max_count = max_count
        self._increasing = rate <= 0

    def _compute_value(self, t):
        return self._init * max(1 - t / self._max_count, 0) ** self._rate
