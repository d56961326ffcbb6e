"""Observed values, made one of all processes'."""

from compatgrad.chainer import Variable
from compatgrad.chainer.training import extension, util


class ObservationAggregator(extension.Extension):
    """Collects the values of `original_key`, and whenever `comm_trigger` fires, writes `aggregator` of all processes'
    values since, a list of lists, to `aggregated_key` (None: the same key). By default that is their mean.
    """

    trigger = (1, "iteration")
    priority = extension.PRIORITY_EDITOR
    name = None

    def __init__(self, comm, original_key, aggregated_key=None, *, comm_trigger=(1, "iteration"), aggregator=None):
        self.comm, self.original_key = comm, original_key
        self.aggregated_key = original_key if aggregated_key is None else aggregated_key
        self.comm_trigger = util.get_trigger(comm_trigger)
        self.aggregator = aggregator or _mean_of_all
        self.observation_history = []

    def compute_summary(self, trainer):
        """The value of all processes, or None where it is not time."""
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
