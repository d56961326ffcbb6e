"""Shared checks and conversions of the backends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ....logger import logger

if TYPE_CHECKING:
    from typing import Any


class Unsupported(ValueError):
    """A backend does not support an operation, which another backend may support. It is a ValueError. The functions of
    `image_utils` then try the next backend, and raise the error of the last one.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_events.common import ImageUtilsBackend, Unsupported
        >>> try:
        ...     ImageUtilsBackend().imread("a.png")
        ... except Unsupported as e:
        ...     print(e)
        ImageUtilsBackend cannot read images

    Source: `nnabla.utils.image_utils` of nnabla 1.39.0, which raises ValueError here.
    """


def rescale_pixel_intensity(
    img: numpy.ndarray,
    input_low: float = 0,
    input_high: float = 255,
    output_low: float = 0,
    output_high: float = 255,
    output_type: Any = None,
) -> numpy.ndarray:
    """Maps the range [input_low, input_high] linearly onto [output_low, output_high].

    Args:
        img: numbers of any shape; values outside the range are mapped by the same linear function.
        input_low, input_high: the range of `img`. If both are equal, values are divided by this number, or unchanged if
            it is 0.
        output_low, output_high: the range of the result.
        output_type: the result's dtype, by default that of `img`.

    Returns:
        Array of the shape of `img`.

    Raises:
        ValueError: `img` is no array.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_events.common import rescale_pixel_intensity
        >>> rescale_pixel_intensity(np.array([0, 51, 255], np.uint8), output_high=1, output_type=np.float32)
        array([0. , 0.2, 1. ], dtype=float32)

    Source: `nnabla.utils.image_utils.backend_events.common.rescale_pixel_intensity` of nnabla 1.39.0.
    """
    if not isinstance(img, numpy.ndarray):
        raise ValueError(f"rescale_pixel_intensity: img must be a numpy array, got {type(img).__name__}")
    span = input_high - input_low
    if span:
        unit = (img - input_low) / span
    else:  # all values are equal: zeros stay 0, others become output_high
        unit = img / input_low if input_low else img
    return (unit * (output_high - output_low) + output_low).astype(output_type or img.dtype)


def upscale_pixel_intensity(img: numpy.ndarray, as_uint16: bool) -> numpy.ndarray:
    """Maps an image to the range of a file's integers.

    Args:
        img: any shape; uint8, uint16, or floats between 0 and 1.
        as_uint16: whether the file has 16 bits per value instead of 8.

    Returns:
        `img` itself for uint16 and, without `as_uint16`, for uint8. With it, uint8 is multiplied by 256. Floats are
        multiplied by 65535 or 255, and fractions cut off.

    Raises:
        AttributeError: `img` is no array.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_events.common import upscale_pixel_intensity
        >>> upscale_pixel_intensity(np.array([0.0, 0.5, 1.0]), as_uint16=True)
        array([    0, 32767, 65535], dtype=uint16)

    Source: `nnabla.utils.image_utils.backend_events.common.upscale_pixel_intensity` of nnabla 1.39.0.
    """
    if img.dtype == numpy.uint16:
        return img
    if img.dtype == numpy.uint8:
        return img.astype(numpy.uint16) * 256 if as_uint16 else img
    return (img * 65535).astype(numpy.uint16) if as_uint16 else (img * 255).astype(numpy.uint8)


class ImageUtilsBackend:
    """Base class of backends: it checks the arguments and converts values.

    A subclass defines `accept`, and `_read(path, grayscale, as_uint16, num_channels)`, `_write(path, img)` and
    `_resize(img, size, method)` as far as its library supports them; `_interpolations_map` maps the names of methods to
    the library's.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_manager import ImageUtilsBackend
        >>> class Constant(ImageUtilsBackend):
        ...     def _read(self, path, grayscale, as_uint16, num_channels):
        ...         return np.full((2, 4, 3), 7, np.uint8)
        >>> Constant().imread("any.name", channel_first=True).shape
        (3, 2, 4)

    Source: `nnabla.utils.image_utils.backend_manager.ImageUtilsBackend` of nnabla 1.39.0.
    """

    _manager = None  # the manager that made it, or None
    _interpolations_map: dict = {}
    _saves_uint16 = True

    def accept(self, path: Any, ext: str, operator: str) -> str:
        """The degree of support for `operator` ("load", "save" or "resize") with files of the extension `ext`.

        "Recommended", "OK" or "NG". Backends are tried in this order, without those of "NG".
        """
        return "NG"

    def imread(
        self,
        path: Any,
        grayscale: bool = False,
        size: tuple[int, int] | None = None,
        interpolate: str = "bilinear",
        channel_first: bool = False,
        as_uint16: bool = False,
        num_channels: int = -1,
        **kwargs: Any,
    ) -> numpy.ndarray:
        """Reads an image like `image_utils.imread`, with this backend alone; raises Unsupported if it cannot."""
        if num_channels not in (-1, 0, 1, 3, 4):
            raise ValueError(f"imread: num_channels must be -1, 0, 1, 3 or 4, got {num_channels}")
        if not grayscale and num_channels in (0, 1):
            raise ValueError(f"imread: num_channels={num_channels} needs grayscale=True")
        img = self._read(path, grayscale, as_uint16, num_channels, **kwargs)
        if as_uint16 and img.dtype == numpy.uint8:
            logger.warning("imread: the image has 8 bits; its values are multiplied by 256.")
            img = img.astype(numpy.uint16) * 256
        if size is not None:
            img = self.imresize(img, size, interpolate)
        return img.transpose(2, 0, 1) if channel_first and img.ndim == 3 else img

    def imsave(
        self,
        path: Any,
        img: numpy.ndarray,
        channel_first: bool = False,
        as_uint16: bool = False,
        auto_scale: bool = True,
    ) -> None:
        """Writes an image like `image_utils.imsave`, with this backend alone; raises Unsupported if it cannot."""
        img = self._check(img, "imsave", channel_first)
        if img.ndim == 3 and img.shape[2] not in (1, 2, 3, 4):
            raise ValueError(f"imsave: img must have 1 to 4 channels, got {img.shape[2]}")
        if img.dtype not in (numpy.uint8, numpy.uint16):
            if not auto_scale:
                raise ValueError("imsave: an image of floats needs auto_scale=True")
            if numpy.any(img < 0) or numpy.any(img > 1):
                raise ValueError(f"imsave: floats must be in [0, 1], got [{img.min()}, {img.max()}]")
            img = img.astype(numpy.float32)
        if not self._saves_uint16 and (as_uint16 or img.dtype == numpy.uint16):
            raise Unsupported("imsave: Pillow writes 8 bits only; for 16 bits install pypng or OpenCV")
        if auto_scale:
            img = upscale_pixel_intensity(img, as_uint16)
        if img.dtype == numpy.uint16 and not as_uint16:
            raise ValueError("imsave: an image of uint16 needs as_uint16=True")
        self._write(path, img.astype(numpy.uint16) if as_uint16 else img)

    def imresize(
        self,
        img: numpy.ndarray,
        size: tuple[int, int] | list[int],
        interpolate: str = "bilinear",
        channel_first: bool = False,
    ) -> numpy.ndarray:
        """Resizes an image with this backend alone, as `image_utils.imresize` does."""
        if not isinstance(size, (list, tuple)):
            raise ValueError(f"imresize: size must be a list or a tuple, got {type(size).__name__}")
        if interpolate not in self._interpolations_map:
            known = ", ".join(self._interpolations_map)
            raise ValueError(f"imresize: interpolate must be one of {known}; got {interpolate!r}")
        img = self._check(img, "imresize", channel_first)
        if img.dtype not in (numpy.uint8, numpy.uint16):
            img = img.astype(numpy.float32)
        resized = self._resize(img, tuple(size), self._interpolations_map[interpolate])
        return resized.transpose(2, 0, 1) if channel_first and resized.ndim == 3 else resized

    @staticmethod
    def _check(img, name, channel_first):
        if not isinstance(img, numpy.ndarray):
            raise ValueError(f"{name}: img must be a numpy array, got {type(img).__name__}")
        if img.ndim not in (2, 3):
            raise ValueError(f"{name}: img must have 2 or 3 axes, got shape {img.shape}")
        return img.transpose(1, 2, 0) if channel_first and img.ndim == 3 else img

    def _read(self, path, grayscale, as_uint16, num_channels):
        raise Unsupported(f"{type(self).__name__} cannot read images")

    def _write(self, path, img):
        raise Unsupported(f"{type(self).__name__} cannot write images")

    def _resize(self, img, size, method):
        raise Unsupported(f"{type(self).__name__} cannot resize images")


def spread_gray(img: numpy.ndarray, num_channels: int) -> numpy.ndarray:
    """Repeats a grayscale image along a new channel axis.

    Args:
        img: array (height, width) of any type.
        num_channels: the number of channels; 0 and -1 return the image unchanged.

    Returns:
        Array (height, width, num_channels), or `img`.

    Raises:
        numpy.exceptions.AxisError: `img` has fewer than 2 axes.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_events.common import spread_gray
        >>> spread_gray(np.array([[1, 2]]), 3)
        array([[[1, 1, 1],
                [2, 2, 2]]])

    Source: compatgrad's own; nnabla 1.39.0 has the same code in each backend.
    """
    if num_channels <= 0:
        return img
    return numpy.repeat(img[..., numpy.newaxis], num_channels, axis=2)
