"""A sampler and datasets of texts."""

# ruff: noqa: F403

from . import sampler
from . import text as text
from .sampler import *

__all__ = [*sampler.__all__]
