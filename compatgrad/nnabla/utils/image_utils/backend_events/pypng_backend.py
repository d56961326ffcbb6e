"""PNG images through pypng, of 8 or 16 bits per value."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy
import png

from compatgrad.core.files import replacing

from .common import (
    ImageUtilsBackend,
    Unsupported,
    spread_gray,
)

if TYPE_CHECKING:
    from typing import Any


class PngBackend(ImageUtilsBackend):
    """Reads and writes PNG files with pypng, with 8 or 16 bits per value. Another backend resizes.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_events.pypng_backend import PngBackend
        >>> PngBackend().accept("a.png", ".png", "load"), PngBackend().accept("a.jpg", ".jpg", "save")
        ('Recommended', 'NG')

    Source: `nnabla.utils.image_utils.backend_events.pypng_backend.PngBackend` of nnabla 1.39.0.
    """

    def accept(self, path: Any, ext: str, operator: str) -> str:
        if operator == "save":
            return "OK" if ext in (".png", "") else "NG"
        return "Recommended" if operator == "load" and ext == ".png" else "NG"

    def _read(self, path, grayscale, as_uint16, num_channels):
        opened = contextlib.nullcontext(path) if hasattr(path, "read") else open(path, "rb")
        with opened as file:
            start = file.tell()
            width, height, rows, info = png.Reader(file=file).asDirect()
            bits = info["bitdepth"]
            if bits not in (8, 16) or (bits == 16 and not as_uint16):
                file.seek(start)
                raise Unsupported(f"imread: pypng cannot convert an image of {bits} bits to the type requested")
            img = numpy.array([list(row) for row in rows], numpy.uint16 if bits == 16 else numpy.uint8)
        img = img.reshape(height, width, -1)
        if img.shape[2] <= 2:
            return spread_gray(img[..., 0], num_channels)
        if grayscale:
            gray = numpy.dot(img[..., :3], [0.299, 0.587, 0.114]).astype(img.dtype)
            return spread_gray(gray, num_channels)
        if num_channels == 4 and img.shape[2] == 3:
            opaque = numpy.full_like(img[..., :1], numpy.iinfo(img.dtype).max)
            return numpy.concatenate([img, opaque], axis=2)
        return img[..., :num_channels] if num_channels > 0 else img

    def _write(self, path, img):
        channels = 1 if img.ndim == 2 else img.shape[2]
        writer = png.Writer(
            img.shape[1],
            img.shape[0],
            greyscale=channels < 3,
            alpha=channels in (2, 4),
            bitdepth=8 * img.itemsize,
        )
        with replacing(path) as file:
            writer.write(file, img.reshape(img.shape[0], -1).tolist())

    def imresize(
        self,
        img: numpy.ndarray,
        size: tuple[int, int] | list[int],
        interpolate: str = "bilinear",
        channel_first: bool = False,
    ) -> numpy.ndarray:
        for backend in self._manager.candidates(img, "resize") if self._manager else ():
            return backend.imresize(img, size, interpolate, channel_first)
        raise Unsupported("imresize: install Pillow or OpenCV")


Backend = PngBackend
