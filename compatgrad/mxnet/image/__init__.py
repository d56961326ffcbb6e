"""Images: files, resizing, cropping, random changes, and an iterator of batches."""

# ruff: noqa: F403

from . import augment, detection, image, iterator
from .augment import *
from .detection import *
from .image import *
from .iterator import *

__all__ = [*image.__all__, *augment.__all__, *iterator.__all__, *detection.__all__]
