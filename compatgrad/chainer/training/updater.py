"""The module of the updaters in older Chainer versions."""

from compatgrad.chainer.training._updater import Updater
from compatgrad.chainer.training.updaters.parallel_updater import ParallelUpdater
from compatgrad.chainer.training.updaters.standard_updater import StandardUpdater

__all__ = ["ParallelUpdater", "StandardUpdater", "Updater"]
