"""Linear change of an attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer
    from compatgrad.chainer.training.trainer import Trainer


class LinearShift(_shift.Shift, example=('"lr", (1.0, 0.5), (1, 3)', "1.0 0.75 0.5 0.5")):
    """Moves an attribute of an optimizer linearly from one value to another. It counts its calls, t, which a snapshot
    keeps.

    Args:
        value_range: first and last value.
        time_range: numbers of the calls at which the change begins and ends.
    """

    def __init__(
        self,
        attr: str,
        value_range: tuple[float, float],
        time_range: tuple[int, int],
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__(attr, None, None, optimizer)
        self._value_range = value_range
        self._time_range = time_range

    def initialize(self, trainer: Trainer) -> None:
        """Sets the first value."""
        self._init = self._compute_value(self._t)
        super().initialize(trainer)

    def _compute_value(self, t):
        t1, t2 = self._time_range
        v1, v2 = self._value_range
        if t <= t1:
            return v1
        if t >= t2:
            return v2
        return v1 + (t - t1) / (t2 - t1) * (v2 - v1)
