"""The old home of `get_trigger` and `IntervalTrigger`."""

from compatgrad.chainer.training.triggers.interval_trigger import IntervalTrigger
from compatgrad.chainer.training.util import _never_fire_trigger, get_trigger

__all__ = ["IntervalTrigger", "_never_fire_trigger", "get_trigger"]
