"""Containers of parallel branches, pixel shuffling, and normalization over devices."""

from .basic_layers import *  # noqa: F403
