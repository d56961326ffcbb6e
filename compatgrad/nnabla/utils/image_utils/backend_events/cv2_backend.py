"""Images through OpenCV, of 8 or 16 bits per value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy

from .common import (
    ImageUtilsBackend,
    Unsupported,
    spread_gray,
)

if TYPE_CHECKING:
    from typing import Any

_BEST = (".bmp", ".dib", ".ppm", ".pbm", ".pgm", ".sr", ".ras")
_READS = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
# keys: the number of channels in the file and the number requested; OpenCV's channel order is blue, green, red
_FROM_FILE = {
    (3, -1): cv2.COLOR_BGR2RGB,
    (3, 3): cv2.COLOR_BGR2RGB,
    (3, 4): cv2.COLOR_BGR2RGBA,
    (4, -1): cv2.COLOR_BGRA2RGBA,
    (4, 3): cv2.COLOR_BGRA2RGB,
    (4, 4): cv2.COLOR_BGRA2RGBA,
}


class Cv2Backend(ImageUtilsBackend):
    """Reads, writes and resizes images with OpenCV, with 8 or 16 bits per value.

    Example:
        >>> from compatgrad.nnabla.utils.image_utils.backend_events.cv2_backend import Cv2Backend
        >>> Cv2Backend().accept("a.bmp", ".bmp", "load"), Cv2Backend().accept("a.gif", ".gif", "load")
        ('Recommended', 'NG')

    Source: `nnabla.utils.image_utils.backend_events.cv2_backend.Cv2Backend` of nnabla 1.39.0.
    """

    _interpolations_map = {
        "nearest": cv2.INTER_NEAREST,
        "bilinear": cv2.INTER_LINEAR,
        "bicubic": cv2.INTER_CUBIC,
        "lanczos": cv2.INTER_LANCZOS4,
    }

    def accept(self, path: Any, ext: str, operator: str) -> str:
        if operator != "load":
            return "OK"
        return "Recommended" if ext in _BEST else "OK" if ext in _READS else "NG"

    def _read(self, path, grayscale, as_uint16, num_channels):
        mode = cv2.IMREAD_GRAYSCALE | cv2.IMREAD_ANYDEPTH if grayscale else cv2.IMREAD_UNCHANGED
        if hasattr(path, "read"):
            img = cv2.imdecode(numpy.frombuffer(path.read(), numpy.uint8), mode)
        else:
            img = cv2.imread(path, mode)
        if img is None:
            raise Unsupported(f"imread: OpenCV cannot read {path!r}")
        if as_uint16 and img.dtype not in (numpy.uint8, numpy.uint16):
            raise Unsupported(f"imread: cannot make uint16 of an image of {img.dtype}")
        if img.ndim == 2:
            return spread_gray(img, num_channels)
        return cv2.cvtColor(img, _FROM_FILE[img.shape[2], num_channels])

    def _write(self, path, img):
        if img.ndim == 3 and img.shape[2] in (3, 4):
            img = cv2.cvtColor(img, cv2.COLOR_RGB2BGR if img.shape[2] == 3 else cv2.COLOR_RGBA2BGRA)
        if not cv2.imwrite(path, img):
            raise OSError(f"imsave: cannot write {path!r}")

    def _resize(self, img, size, method):
        resized = cv2.resize(img, size, interpolation=method).astype(img.dtype)
        return resized[..., numpy.newaxis] if resized.ndim < img.ndim else resized


Backend = Cv2Backend
