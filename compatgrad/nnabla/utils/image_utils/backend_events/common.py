"""What the backends share: checks and conversions."""

import numpy

from ....logger import logger


class Unsupported(ValueError):
    """Another backend may be able to do it."""


def rescale_pixel_intensity(img, input_low=0, input_high=255, output_low=0, output_high=255, output_type=None):
    """`img` with the range [input_low, input_high] mapped linearly onto [output_low, output_high].

    output_type: the result's dtype, by default the image's. ValueError where img is no array.
    """
    if not isinstance(img, numpy.ndarray):
        raise ValueError(f"rescale_pixel_intensity: img must be a numpy array, got {type(img).__name__}")
    span = input_high - input_low
    if span:
        unit = (img - input_low) / span
    else:  # all values are the same: zeros stay, others become the highest
        unit = img / input_low if input_low else img
    return (unit * (output_high - output_low) + output_low).astype(output_type or img.dtype)


def upscale_pixel_intensity(img, as_uint16):
    """`img`, uint8, uint16 or floats in [0, 1], in the range of the file's integers."""
    if img.dtype == numpy.uint16:
        return img
    if img.dtype == numpy.uint8:
        return img.astype(numpy.uint16) * 256 if as_uint16 else img
    return (img * 65535).astype(numpy.uint16) if as_uint16 else (img * 255).astype(numpy.uint8)


class ImageUtilsBackend:
    """Base class of backends; a subclass defines `accept`, `_read`, `_write` and `_resize`."""

    _manager = None  # that has made it, if one has
    _interpolations_map: dict = {}
    _saves_uint16 = True

    def accept(self, path, ext, operator):
        """ "Recommended", "OK" or "NG" for `operator`, "load", "save" or "resize"."""
        return "NG"

    def imread(
        self,
        path,
        grayscale=False,
        size=None,
        interpolate="bilinear",
        channel_first=False,
        as_uint16=False,
        num_channels=-1,
        **kwargs,
    ):
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

    def imsave(self, path, img, channel_first=False, as_uint16=False, auto_scale=True):
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

    def imresize(self, img, size, interpolate="bilinear", channel_first=False):
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


def spread_gray(img, num_channels):
    """A gray image (height, width) with that many equal channels; -1 and 0: as it is."""
    if num_channels <= 0:
        return img
    return numpy.repeat(img[..., numpy.newaxis], num_channels, axis=2)
