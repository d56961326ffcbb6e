"""More cells."""

# ruff: noqa: F403

from . import rnn_cell
from .rnn_cell import *

__all__ = [*rnn_cell.__all__]
