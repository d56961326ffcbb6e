"""Datasets, samplers, and loaders of mini-batches."""

# ruff: noqa: F403

from . import batchify, dataloader, dataset, sampler, vision
from .dataloader import *
from .dataset import *
from .sampler import *

__all__ = [*dataset.__all__, *sampler.__all__, *dataloader.__all__, "batchify", "vision"]
