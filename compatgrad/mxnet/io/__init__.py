"""Iterators of batches: `mxnet.io`."""

# ruff: noqa: F403

from .._home import lend as _lend
from . import detection, files, io
from .detection import *
from .files import *
from .io import *

__all__ = [*io.__all__, *files.__all__, *detection.__all__]

_lend(globals(), io)
