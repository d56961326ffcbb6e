"""Triggers: callables that take the trainer and say whether to act (`chainer.training.triggers`)."""

from compatgrad.chainer.training.triggers.early_stopping_trigger import EarlyStoppingTrigger
from compatgrad.chainer.training.triggers.interval_trigger import IntervalTrigger
from compatgrad.chainer.training.triggers.manual_schedule_trigger import ManualScheduleTrigger
from compatgrad.chainer.training.triggers.minmax_value_trigger import (
    BestValueTrigger,
    MaxValueTrigger,
    MinValueTrigger,
)
from compatgrad.chainer.training.triggers.once_trigger import OnceTrigger
from compatgrad.chainer.training.triggers.time_trigger import TimeTrigger

__all__ = [
    "BestValueTrigger",
    "EarlyStoppingTrigger",
    "IntervalTrigger",
    "ManualScheduleTrigger",
    "MaxValueTrigger",
    "MinValueTrigger",
    "OnceTrigger",
    "TimeTrigger",
]
