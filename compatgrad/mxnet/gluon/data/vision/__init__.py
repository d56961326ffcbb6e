"""Datasets of images, and transformations of images."""

# ruff: noqa: F403

from . import datasets, transforms
from .datasets import *

__all__ = [*datasets.__all__, "transforms"]
