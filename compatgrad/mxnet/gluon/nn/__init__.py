"""Layers."""

# ruff: noqa: F403, I001
from ..block import *
from .basic_layers import *
from .conv_layers import *
from .activations import *
