"""pypng: PNG of 8 and 16 bits."""

import contextlib

import numpy
import png

from compatgrad.core.files import replacing

from .common import (
    ImageUtilsBackend,
    Unsupported,
    spread_gray,
)


class PngBackend(ImageUtilsBackend):
    """PNG files by pypng; it does not resize: another backend does."""

    def accept(self, path, ext, operator):
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
                raise Unsupported(f"imread: pypng cannot read an image of {bits} bits so")
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

    def imresize(self, img, size, interpolate="bilinear", channel_first=False):
        for backend in self._manager.candidates(img, "resize") if self._manager else ():
            return backend.imresize(img, size, interpolate, channel_first)
        raise Unsupported("imresize: install Pillow or OpenCV")


Backend = PngBackend
