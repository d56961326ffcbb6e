"""An extension that combines the observed values of all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import Variable
from compatgrad.chainer.training import extension, util

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class ObservationAggregator(extension.Extension):
    """Collects the values of `original_key`. Whenever `comm_trigger` fires, it observes the result of `aggregator` for
    the values that all processes have collected since the last time.

    Args:
        comm: the communicator.
        original_key: name of the observed value.
        aggregated_key: name of the result; None is `original_key`.
        comm_trigger: a trigger, or a pair of number and unit.
        aggregator: a function of a list with the list of values of each process; None is the mean.

    Example:
        >>> from types import SimpleNamespace
        >>> comm, each = chainermn.create_communicator("naive"), (2, "iteration")
        >>> extension = chainermn.extensions.ObservationAggregator(comm, "loss", "mean", comm_trigger=each)
        >>> for iteration, loss in [(1, 1.0), (2, 3.0)]:
        ...     updater = SimpleNamespace(iteration=iteration)
        ...     trainer = SimpleNamespace(updater=updater, observation={"loss": loss})
        ...     extension(trainer)
        >>> trainer.observation
        {'loss': 3.0, 'mean': 2.0}

    Source: `chainermn.extensions.ObservationAggregator` of Chainer 7.8.1.
    """

    trigger = (1, "iteration")
    priority = extension.PRIORITY_EDITOR
    name = None

    def __init__(
        self,
        comm: CommunicatorBase,
        original_key: str,
        aggregated_key: str | None = None,
        *,
        comm_trigger: Any = (1, "iteration"),
        aggregator: Callable[[list[list[Any]]], Any] | None = None,
    ) -> None:
        self.comm, self.original_key = comm, original_key
        self.aggregated_key = original_key if aggregated_key is None else aggregated_key
        self.comm_trigger = util.get_trigger(comm_trigger)
        self.aggregator = aggregator or _mean_of_all
        self.observation_history = []

    def compute_summary(self, trainer: Any) -> Any:
        """The combined value of all processes, or None if the trigger does not fire."""
        if self.original_key in trainer.observation:
            value = trainer.observation[self.original_key]
            if isinstance(value, Variable):
                value.to_cpu()
            self.observation_history.append(value)
        if not self.comm_trigger(trainer):
            return None
        everybody = self.comm.gather_obj(self.observation_history)
        self.observation_history = []
        return self.comm.bcast_obj(self.aggregator(everybody) if self.comm.rank == 0 else None)

    def __call__(self, trainer):
        value = self.compute_summary(trainer)
        if value is not None:
            trainer.observation[self.aggregated_key] = value


def _mean_of_all(lists):
    values = [value for values in lists for value in values]
    return sum(values) / len(values)
