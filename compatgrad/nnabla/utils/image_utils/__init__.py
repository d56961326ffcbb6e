"""Images: reading, writing and resizing, by Pillow, OpenCV or pypng, whichever is installed."""

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
    """Selects one backend for all operations.

    Args:
        backend: "PilBackend", "Cv2Backend" or "PngBackend"; with any other name, or where the backend's library is
            missing, the backend is chosen by the type of file again.

    Raises:
        TypeError: `backend` is not hashable, such as a list.

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
    """The name of the current backend.

    Returns:
        The name of the selected backend, else of the one that was used last, else "".

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
    """The available backends.

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
    """Maps the values of an image linearly onto the full range of an integer type: the smallest becomes 0, the largest
    the limit.

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
        grayscale: whether to convert the image to gray.
        size: (width, height) to which the image is resized; by default it keeps its size.
        interpolate: method of resizing: "nearest", "bilinear", "bicubic", "lanczos", with Pillow also "box" and
            "hamming".
        channel_first: whether the channels are the first axis of the result instead of the last.
        as_uint16: whether the result is uint16; 8-bit values are multiplied by 256. Pillow cannot read 16 bits.
        num_channels: -1 for those of the image, 3 or 4; for a gray image also 1, and 0 for no axis of channels.
        **kwargs: options of the backend. Pillow's has return_palette_indices: True keeps the indices of an image with a
            palette; by default its colors are read.

    Returns:
        Array (height, width, channels), or (height, width) where the image is gray, of uint8 or uint16.

    Raises:
        ValueError: `num_channels` has another value or needs a gray image, `interpolate` is unknown, or no installed
            backend can read the file.
        FileNotFoundError: there is no such file.
        OSError: Pillow cannot identify the content of the file.

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
        path: the name of the file; its extension determines the format.
        img: array (height, width) or (height, width, channels) with 1 to 4 channels, of uint8, of uint16, or of floats
            between 0 and 1, which need `auto_scale`.
        channel_first: whether the channels are the first axis of `img`.
        as_uint16: whether the file has 16 bits per value; needed for `img` of uint16. Pillow cannot write 16 bits.
        auto_scale: whether to map values to the range of the file's integers: floats are multiplied by the largest
            integer, and uint8 by 256 for 16 bits.
        **kwargs: options of the backend; none exist.

    Raises:
        ValueError: `img` is no array, has another shape, has floats without `auto_scale` or outside [0, 1], or is of
            uint16 without `as_uint16`; or no installed backend can write it.
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
        img: array (height, width) or (height, width, channels); types other than uint8 and uint16 become float32.
        size: (width, height) of the result.
        interpolate: "nearest", "bilinear", "bicubic", "lanczos", with Pillow also "box" and "hamming".
        channel_first: whether the channels are the first axis of `img` and of the result.
        **kwargs: options of the backend; none exist.

    Returns:
        Array of the new size, of uint8, uint16 or float32.

    Raises:
        ValueError: `img` is not an array or does not have 2 or 3 axes, `size` is not a list or tuple, or `interpolate`
            is unknown.

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
