"""Early stopping of all processes at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.training.triggers import EarlyStoppingTrigger
from compatgrad.chainermn.extensions.observation_aggregator import ObservationAggregator

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class MultiNodeEarlyStoppingTrigger:
    """`EarlyStoppingTrigger` for the mean over all processes of the value `monitor`.

    Args:
        comm: the communicator.
        check_trigger: the interval, a trigger or a pair of number and unit.
        monitor: name of the observed value.
        patience: number of intervals without progress; None is 3.
        mode: "max" or "min", whether large or small values are good; "auto" is "max" for names that contain "accuracy",
            else "min".
        verbose: True prints when it stops the training.
        max_trigger: fires in any case, a trigger or a pair of number and unit.
        suffix: is appended to `monitor` for the name under which the mean is observed.
        **kwargs: `patients`, an old name of `patience`.

    Raises:
        TypeError: both `patience` and `patients` are given, or another keyword.

    Example:
        >>> from types import SimpleNamespace
        >>> comm, each, at_most = chainermn.create_communicator("naive"), (1, "iteration"), (9, "iteration")
        >>> trigger = chainermn.extensions.MultiNodeEarlyStoppingTrigger(
        ...     comm, check_trigger=each, monitor="loss", patience=2, max_trigger=at_most)
        >>> def trainer(iteration, loss):
        ...     return SimpleNamespace(updater=SimpleNamespace(iteration=iteration), observation={"loss": loss})
        >>> [trigger(trainer(i, loss)) for i, loss in enumerate([3.0, 2.0, 4.0, 5.0], 1)]
        [False, False, False, True]

    Source: `chainermn.extensions.MultiNodeEarlyStoppingTrigger` of Chainer 7.8.1.
    """

    def __init__(
        self,
        comm: CommunicatorBase,
        *,
        check_trigger: Any = (1, "epoch"),
        monitor: str = "main/loss",
        patience: int | None = None,
        mode: str = "auto",
        verbose: bool = False,
        max_trigger: Any = (100, "epoch"),
        suffix: str = "_aggregated",
        **kwargs: Any,
    ) -> None:
        key = monitor + suffix
        self.actual_trigger = EarlyStoppingTrigger(
            check_trigger=check_trigger, monitor=key, patience=patience, mode=mode, verbose=verbose,
            max_trigger=max_trigger, **kwargs,
        )  # fmt: skip
        self.aggregator = ObservationAggregator(comm, monitor, aggregated_key=key, comm_trigger=check_trigger)

    def __call__(self, trainer):
        self.aggregator(trainer)
        return self.actual_trigger(trainer)

    def _stop_condition(self):
        return self.actual_trigger._stop_condition()

    def _init_summary(self):
        return self.actual_trigger._init_summary()

    def get_training_length(self) -> tuple[int, str]:
        """The greatest length of the training, a number and its unit, for a progress bar."""
        return self.actual_trigger.get_training_length()
