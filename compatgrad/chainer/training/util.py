"""From what users write to triggers."""

from compatgrad.chainer.training.triggers import interval_trigger


def get_trigger(trigger):
    """Return a callable as it is, a trigger that never fires for None, else ``IntervalTrigger(*trigger)``."""
    if callable(trigger):
        return trigger
    if trigger is None:
        return _never_fire_trigger
    return interval_trigger.IntervalTrigger(*trigger)


def _never_fire_trigger(trainer):
    return False
