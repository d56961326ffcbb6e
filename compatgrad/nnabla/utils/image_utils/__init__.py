"""Images: reading, writing and resizing, by Pillow, OpenCV or pypng, whichever is there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy

from compatgrad.core.files import in_folder_beside

from . import backend_events
from .backend_events.common import rescale_pixel_intensity
from .backend_manager import backend_manager

if TYPE_CHECKING:
    from typing import Any, BinaryIO

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


def set_backend(backend: str | None) -> None:
    """Uses one backend for everything from now on.

    Args:
        backend: "PilBackend", "Cv2Backend" or "PngBackend"; any other name, and a backend whose library is missing,
            brings back the choice by the kind of file.

    Raises:
        TypeError: `backend` cannot be a name, such as a list.

    Example:
        >>> from compatgrad.nnabla.utils import image_utils
        >>> image_utils.set_backend("PilBackend")
        >>> image_utils.get_backend()
        'PilBackend'
        >>> image_utils.set_backend(None)

    Source: `nnabla.utils.image_utils.set_backend` of nnabla 1.39.0.
    """
    backend_manager.set_backend(backend)


def get_backend() -> str:
    """Tells which backend works.

    Returns:
        The name of the backend that is set, else of the one used last, else "".

    Example:
        >>> from compatgrad.nnabla.utils import image_utils
        >>> image_utils.set_backend("PilBackend")
        >>> image_utils.get_backend()
        'PilBackend'
        >>> image_utils.set_backend(None)

    Source: `nnabla.utils.image_utils.get_backend` of nnabla 1.39.0.
    """
    return backend_manager.get_backend()


def get_available_backends() -> list[str]:
    """Tells which backends there are.

    Returns:
        The names of the backends whose library is installed, in the order in which they are tried.

    Example:
        >>> from compatgrad.nnabla.utils import image_utils
        >>> "PilBackend" in image_utils.get_available_backends()
        True

    Source: `nnabla.utils.image_utils.get_available_backends` of nnabla 1.39.0.
    """
    return backend_manager.get_available_backends()


def minmax_auto_scale(img: numpy.ndarray, as_uint16: bool) -> numpy.ndarray:
    """Maps the values of an image linearly onto the whole range of integers: the smallest becomes 0, the largest the
    limit.

    Args:
        img: numbers of any shape.
        as_uint16: True for a limit of 65535, False for 255.

    Returns:
        Array of the shape of `img`, uint16 or uint8; fractions are cut off.

    Raises:
        AttributeError: `img` is no array.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils import minmax_auto_scale
        >>> minmax_auto_scale(np.array([[-1.0, 0.0, 3.0]]), as_uint16=False)
        array([[  0,  63, 255]], dtype=uint8)

    Source: `nnabla.utils.image_utils.minmax_auto_scale` of nnabla 1.39.0.
    """
    high, dtype = (65535, numpy.uint16) if as_uint16 else (255, numpy.uint8)
    return rescale_pixel_intensity(img, img.min(), img.max(), 0, high, dtype)


def imread(
    path: str | BinaryIO,
    grayscale: bool = False,
    size: tuple[int, int] | None = None,
    interpolate: str = "bilinear",
    channel_first: bool = False,
    as_uint16: bool = False,
    num_channels: int = -1,
    **kwargs: Any,
) -> numpy.ndarray:
    """Reads an image.

    Args:
        path: the name of a file, or a file that is open for reading bytes.
        grayscale: whether the image is converted to gray.
        size: (width, height) to which the image is resized; by default it keeps its size.
        interpolate: how it is resized: "nearest", "bilinear", "bicubic", "lanczos", with Pillow also "box" and
            "hamming".
        channel_first: whether the channels are the first axis of the result instead of the last.
        as_uint16: whether the result is uint16; values of 8 bits are multiplied by 256. Pillow reads no 16 bits.
        num_channels: -1 for those of the image, 3 or 4; for a gray image also 0, no axis of channels, and 1.
        **kwargs: options of the backend. Pillow's has return_palette_indices: True keeps the indices of an image with a
            palette, by default its colors are read.

    Returns:
        Array (height, width, channels), or (height, width) where the image is gray, of uint8 or uint16.

    Raises:
        ValueError: `num_channels` is none of these or needs a gray image, `interpolate` is not known, or no backend
            that is installed can read the file.
        FileNotFoundError: there is no such file.
        OSError: Pillow does not know the content of the file.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils import imread, imsave
        >>> imsave("red.png", np.full((2, 3, 3), [255, 0, 0], np.uint8))
        >>> imread("red.png").shape
        (2, 3, 3)
        >>> imread("red.png", grayscale=True, size=(1, 1))
        array([[76]], dtype=uint8)

    Source: `nnabla.utils.image_utils.imread` of nnabla 1.39.0.
    """
    backend = backend_manager.get_best_backend(path, "load")
    options = (grayscale, size, interpolate, channel_first, as_uint16, num_channels)
    return backend.imread(path, *options, **kwargs)


def imsave(
    path: str | BinaryIO,
    img: numpy.ndarray,
    channel_first: bool = False,
    as_uint16: bool = False,
    auto_scale: bool = True,
    **kwargs: Any,
) -> None:
    """Writes an image.

    Args:
        path: the name of the file; its extension names the format.
        img: array (height, width) or (height, width, channels) with 1 to 4 channels, of uint8, of uint16, or of floats
            between 0 and 1, which need `auto_scale`.
        channel_first: whether the channels are the first axis of `img`.
        as_uint16: whether the file has 16 bits per value; needed for `img` of uint16. Pillow writes no 16 bits.
        auto_scale: whether values are mapped onto the range of the file's integers: floats by the largest integer,
            uint8 to 16 bits by 256.
        **kwargs: options of the backend; there are none now.

    Raises:
        ValueError: `img` is no array, has another shape, has floats without `auto_scale` or outside [0, 1], or is of
            uint16 without `as_uint16`; or no backend that is installed can write it.
        FileNotFoundError: the folder does not exist.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils import imread, imsave
        >>> imsave("ramp.png", np.array([[0.0, 0.5, 1.0]]))
        >>> imread("ramp.png")
        array([[  0, 127, 255]], dtype=uint8)

    Source: `nnabla.utils.image_utils.imsave` of nnabla 1.39.0.
    """
    backend = backend_manager.get_best_backend(path, "save")
    if not isinstance(path, (str, os.PathLike)):
        backend.imsave(path, img, channel_first, as_uint16, auto_scale, **kwargs)
        return
    with in_folder_beside(path) as name:
        backend.imsave(name, img, channel_first, as_uint16, auto_scale, **kwargs)


def imresize(
    img: numpy.ndarray,
    size: tuple[int, int] | list[int],
    interpolate: str = "bilinear",
    channel_first: bool = False,
    **kwargs: Any,
) -> numpy.ndarray:
    """Resizes an image.

    Args:
        img: array (height, width) or (height, width, channels); other types than uint8 and uint16 become float32.
        size: (width, height) of the result.
        interpolate: "nearest", "bilinear", "bicubic", "lanczos", with Pillow also "box" and "hamming".
        channel_first: whether the channels are the first axis of `img` and of the result.
        **kwargs: options of the backend; there are none now.

    Returns:
        Array of the new size, of uint8, uint16 or float32.

    Raises:
        ValueError: `img` is no array or has not 2 or 3 axes, `size` is no list or tuple, or `interpolate` is not known.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils import imresize
        >>> imresize(np.array([[0, 200], [100, 40]], np.uint8), (4, 2), "nearest")
        array([[  0,   0, 200, 200],
               [100, 100,  40,  40]], dtype=uint8)

    Source: `nnabla.utils.image_utils.imresize` of nnabla 1.39.0.
    """
    backend = backend_manager.get_best_backend(img, "resize")
    return backend.imresize(img, size, interpolate, channel_first, **kwargs)


imwrite = imsave
imload = imread
