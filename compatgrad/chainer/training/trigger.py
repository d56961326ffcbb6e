"""The module of `get_trigger` and `IntervalTrigger` in older Chainer versions."""

from compatgrad.chainer.training.triggers.interval_trigger import IntervalTrigger
from compatgrad.chainer.training.util import _never_fire_trigger, get_trigger

__all__ = ["IntervalTrigger", "_never_fire_trigger", "get_trigger"]
