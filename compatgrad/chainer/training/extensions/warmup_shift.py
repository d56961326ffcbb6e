"""Linear warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer
    from compatgrad.chainer.training.trainer import Trainer


class WarmupShift(_shift.OptimizerExtension, example=('"lr", 0.0, 4, 1.0', "0.25 0.5 0.75 1.0 1.0")):
    """Moves an attribute of an optimizer linearly from a start value to the value for the rest of the training, during
    its first calls. It counts its calls, t, which a snapshot keeps.

    Args:
        warmup_start: first value; None takes the optimizer's.
        warmup_iter: number of calls until the last value.
        init: last value.
    """

    def __init__(
        self, attr: str, warmup_start: float | None, warmup_iter: int, init: float, optimizer: Optimizer | None = None
    ) -> None:
        super().__init__(attr, optimizer)
        self._warmup_start = warmup_start
        self._warmup_iter = warmup_iter
        self._init = init

    def initialize(self, trainer: Trainer) -> None:
        """Sets the first value."""
        self._warmup_start = self._first_value(trainer, self._warmup_start)

    def __call__(self, trainer: Trainer) -> None:
        self._t += 1
        t, n = self._t, self._warmup_iter
        if t <= n:
            self._set_value(trainer, (t * self._init + (n - t) * self._warmup_start) / n)
