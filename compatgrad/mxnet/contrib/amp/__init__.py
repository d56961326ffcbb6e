"""Automatic mixed precision."""

# ruff: noqa: F403

from . import amp as amp
from .amp import *
