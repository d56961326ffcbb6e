"""Images: files, resizing, cropping, random changes, and an iterator of batches."""

# ruff: noqa: F403

from . import augment, image, iterator
from .augment import *
from .image import *
from .iterator import *

__all__ = [*image.__all__, *augment.__all__, *iterator.__all__]
