"""Images: files, resizing, cropping, random changes, and an iterator of batches."""

# ruff: noqa: F403

from .. import io as io
from .. import ndarray as ndarray
from .. import recordio as recordio
from .._home import lend as _lend
from ..util import is_np_array as is_np_array
from . import augment, detection, image, iterator
from .augment import *
from .detection import *
from .image import *
from .iterator import *

det, nd = detection, ndarray

__all__ = [*image.__all__, *augment.__all__, *iterator.__all__, *detection.__all__]

_lend(globals(), image)
