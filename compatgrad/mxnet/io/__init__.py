"""Iterators of batches: `mxnet.io`."""

# ruff: noqa: F403

from . import files, io
from .files import *
from .io import *

__all__ = [*io.__all__, *files.__all__]
