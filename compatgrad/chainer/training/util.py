"""From what users write to triggers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad.chainer.training.triggers import interval_trigger


def get_trigger(trigger: Any) -> Callable[[Any], Any]:
    """Makes a trigger of what users write.

    Args:
        trigger: a trigger, that is a function of the trainer, which stays as it is; a pair of a number and "iteration"
            or "epoch", for each of which it fires; or None, which never fires.

    Returns:
        The trigger.

    Raises:
        TypeError: `trigger` is another object.
        ValueError: the unit is another one.

    Example:
        >>> chainer.training.get_trigger((2, "epoch")).get_training_length()
        (2, 'epoch')

    Source: `chainer.training.get_trigger` of Chainer 7.8.1.
    """
    if callable(trigger):
        return trigger
    if trigger is None:
        return _never_fire_trigger
    return interval_trigger.IntervalTrigger(*trigger)


def _never_fire_trigger(trainer):
    return False
