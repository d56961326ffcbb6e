"""Datasets of images, and what transforms them."""

# ruff: noqa: F403

from . import datasets, transforms
from .datasets import *

__all__ = [*datasets.__all__, "transforms"]
