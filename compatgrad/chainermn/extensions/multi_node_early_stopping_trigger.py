"""Training that ends early, in all processes at once."""

from compatgrad.chainer.training.triggers import EarlyStoppingTrigger
from compatgrad.chainermn.extensions.observation_aggregator import ObservationAggregator


class MultiNodeEarlyStoppingTrigger:
    """`EarlyStoppingTrigger`, with its arguments, by the mean of all processes' values of `monitor`, which is observed
    under that name with `suffix`.
    """

    def __init__(
        self, comm, *, check_trigger=(1, "epoch"), monitor="main/loss", patience=None, mode="auto", verbose=False,
        max_trigger=(100, "epoch"), suffix="_aggregated", **kwargs,
    ):  # fmt: skip
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

    def get_training_length(self):
        return self.actual_trigger.get_training_length()
