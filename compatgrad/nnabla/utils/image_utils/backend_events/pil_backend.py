"""Images through Pillow: many formats, 8 bits per value."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy
from PIL import Image

from compatgrad.core.files import naming

from .common import (
    ImageUtilsBackend,
    Unsupported,
    spread_gray,
)

if TYPE_CHECKING:
    from typing import Any

_READS = ".bmp .dib .eps .gif .icns .ico .jpeg .jpg .msp .png .ppm .pbm .pgm .pnm .tif .tiff".split()


class PilBackend(ImageUtilsBackend):
    """Reads, writes and resizes images of many formats with Pillow, with 8 bits per value.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_events.pil_backend import PilBackend
        >>> PilBackend().accept("a.gif", ".gif", "load"), PilBackend().accept("a.txt", ".txt", "load")
        ('OK', 'NG')

    Source: `nnabla.utils.image_utils.backend_events.pil_backend.PilBackend` of nnabla 1.39.0.
    """

    _interpolations_map = {
        name: getattr(Image.Resampling, name.upper())
        for name in ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")
    }
    _saves_uint16 = False

    def accept(self, path: Any, ext: str, operator: str) -> str:
        return "OK" if operator != "load" or ext in _READS else "NG"

    def _read(self, path, grayscale, as_uint16, num_channels, return_palette_indices=False):
        if as_uint16:
            raise Unsupported("imread: Pillow reads 8 bits only; for 16 bits install pypng or OpenCV")
        # Pillow's decoders raise exceptions of many types on damaged files
        with naming(path, SyntaxError, ValueError, LookupError, struct.error, Image.DecompressionBombError, to=OSError):
            image = Image.open(path)
            image.load()
        with image:
            if image.mode == "I":
                raise Unsupported("imread: Pillow reads 8 bits only; the image has integers of 32 bits")
            if image.mode == "P" and not return_palette_indices:
                image = image.convert("RGBA" if "transparency" in image.info else "RGB")
            if grayscale:
                return spread_gray(numpy.array(image.convert("L")), num_channels)
            if num_channels in (3, 4):
                image = image.convert("RGB" if num_channels == 3 else "RGBA")
            return numpy.array(image).astype(numpy.uint8, copy=False)

    def _write(self, path, img):
        Image.fromarray(img[..., 0] if img.ndim == 3 and img.shape[2] == 1 else img).save(path)

    def _resize(self, img, size, method):
        if img.dtype == numpy.uint8 and (img.ndim == 2 or img.shape[2] in (2, 3, 4)):
            return numpy.array(Image.fromarray(img).resize(size, method))
        if img.ndim == 3:
            channels = [self._resize(img[..., i], size, method) for i in range(img.shape[2])]
            return numpy.stack(channels, axis=2)
        if img.dtype == numpy.uint8:
            return numpy.array(Image.fromarray(img).resize(size, method))
        resized = Image.fromarray(numpy.ascontiguousarray(img, numpy.float32)).resize(size, method)
        return numpy.array(resized).astype(img.dtype)


Backend = PilBackend
