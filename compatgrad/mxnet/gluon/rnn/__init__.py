"""Recurrent layers, which run whole sequences, and cells, which run one step."""

# ruff: noqa: F403

from . import rnn_cell, rnn_layer
from .rnn_cell import *
from .rnn_layer import *

__all__ = [*rnn_cell.__all__, *rnn_layer.__all__]
