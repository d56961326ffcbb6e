"""Images: reading, writing and resizing, by Pillow, OpenCV or pypng, whichever is there."""

import numpy

from . import backend_events
from .backend_events.common import rescale_pixel_intensity
from .backend_manager import backend_manager

__all__ = [
    "backend_events",
    "backend_manager",
    "get_available_backends",
    "get_backend",
    "imload",
    "imread",
    "imresize",
    "imsave",
    "imwrite",
    "minmax_auto_scale",
    "set_backend",
]


def set_backend(backend):
    """Uses the backend of that name ("PilBackend", "Cv2Backend", "PngBackend") from now on, for everything.

    Another name brings the automatic choice back.
    """
    backend_manager.set_backend(backend)


def get_backend():
    """The name of the backend that is set, else of the one used last, else ""."""
    return backend_manager.get_backend()


def get_available_backends():
    """The names of the backends whose library is installed."""
    return backend_manager.get_available_backends()


def minmax_auto_scale(img, as_uint16):
    """`img` with its smallest value at 0 and its largest at 255, as uint8, or 65535, as uint16."""
    high, dtype = (65535, numpy.uint16) if as_uint16 else (255, numpy.uint8)
    return rescale_pixel_intensity(img, img.min(), img.max(), 0, high, dtype)


def imread(
    path,
    grayscale=False,
    size=None,
    interpolate="bilinear",
    channel_first=False,
    as_uint16=False,
    num_channels=-1,
    **kwargs,
):
    """The image at `path` (str, or a binary file) as an array (height, width, channels) or (height, width).

    grayscale: converts it. size: (width, height) to which it is resized. interpolate: how; "nearest",
    "bilinear", "bicubic", "lanczos", with Pillow also "box" and "hamming". channel_first: gives (channels,
    height, width). as_uint16: gives uint16 instead of uint8. num_channels: -1 as in the image, 3 or 4, for
    grayscale also 0 and 1. return_palette_indices (Pillow only): keeps the indices of an image with a
    palette. ValueError for bad arguments.
    """
    backend = backend_manager.get_best_backend(path, "load")
    options = (grayscale, size, interpolate, channel_first, as_uint16, num_channels)
    return backend.imread(path, *options, **kwargs)


def imsave(path, img, channel_first=False, as_uint16=False, auto_scale=True, **kwargs):
    """Writes the array `img` (height, width[, channels]) to the file `path`; its extension names the format.

    img: uint8, uint16, or floats in [0, 1], which need auto_scale. channel_first: img is (channels, height,
    width). as_uint16: writes 16 bits. auto_scale: maps the values' range onto the file's. ValueError for
    other values.
    """
    backend = backend_manager.get_best_backend(path, "save")
    backend.imsave(path, img, channel_first, as_uint16, auto_scale, **kwargs)


def imresize(img, size, interpolate="bilinear", channel_first=False, **kwargs):
    """The array `img` (height, width[, channels]) resized to `size`, (width, height).

    interpolate: see `imread`. channel_first: img is (channels, height, width). ValueError for bad arguments.
    """
    backend = backend_manager.get_best_backend(img, "resize")
    return backend.imresize(img, size, interpolate, channel_first, **kwargs)


imwrite = imsave
imload = imread
