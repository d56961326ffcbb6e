"""Containers of parallel branches, pixel shuffling, and normalisation over devices."""

from .basic_layers import *  # noqa: F403
