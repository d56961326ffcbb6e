"""Updaters (`chainer.training.updaters`)."""

from compatgrad.chainer.training.updaters.multiprocess_parallel_updater import MultiprocessParallelUpdater
from compatgrad.chainer.training.updaters.parallel_updater import ParallelUpdater
from compatgrad.chainer.training.updaters.standard_updater import StandardUpdater

__all__ = ["MultiprocessParallelUpdater", "ParallelUpdater", "StandardUpdater"]
