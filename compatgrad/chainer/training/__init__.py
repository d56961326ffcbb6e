"""The training loop (`chainer.training`)."""

# ruff: noqa: I001
# Triggers come first: the extensions and the trainer import them.
from compatgrad.chainer.training import triggers
from compatgrad.chainer.training import updaters
from compatgrad.chainer.training import extensions
from compatgrad.chainer.training import util
from compatgrad.chainer.training.extension import (
    PRIORITY_EDITOR,
    PRIORITY_READER,
    PRIORITY_WRITER,
    Extension,
    make_extension,
)
from compatgrad.chainer.training.trainer import Trainer
from compatgrad.chainer.training.trigger import IntervalTrigger, get_trigger
from compatgrad.chainer.training.updater import ParallelUpdater, StandardUpdater, Updater

__all__ = [
    "Extension",
    "IntervalTrigger",
    "PRIORITY_EDITOR",
    "PRIORITY_READER",
    "PRIORITY_WRITER",
    "ParallelUpdater",
    "StandardUpdater",
    "Trainer",
    "Updater",
    "extensions",
    "get_trigger",
    "make_extension",
    "triggers",
    "updaters",
    "util",
]
