"""Makes triggers from the forms that programs write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad.chainer.training.triggers import interval_trigger


def get_trigger(trigger: Any) -> Callable[[Any], Any]:
    """Makes a trigger from one of the forms that programs write.

    Args:
        trigger: a trigger, that is a function of the trainer, which is returned unchanged; a pair of a number and
            "iteration" or "epoch", for a trigger that fires at this interval; or None, for a trigger that never fires.

    Returns:
        The trigger.

    Raises:
        TypeError: `trigger` is none of these.
        ValueError: the unit is neither "iteration" nor "epoch".

    Example:
        >>> chainer.training.get_trigger((2, "epoch")).get_training_length()
        (2, 'epoch')

    Source: `chainer.training.get_trigger` of Chainer 7.8.1.
    """
    if callable(trigger):
        return trigger
    if trigger is None:
        return _never_fire_trigger
    try:
        number, unit = trigger
    except (TypeError, ValueError):
        expected = "a function of the trainer, or a pair such as (20, 'epoch') or (1000, 'iteration')"
        raise TypeError(f"trigger: expected {expected}, got {trigger!r}") from None
    return interval_trigger.IntervalTrigger(number, unit)


def _never_fire_trigger(trainer):
    return False
