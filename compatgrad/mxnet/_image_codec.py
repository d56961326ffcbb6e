"""Image files to NumPy arrays and back, by Pillow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from . import ndarray as nd
from . import numpy as mx_np
from .base import MXNetError
from .util import is_np_array


def array_of(values: np.ndarray) -> nd.NDArray:
    """A NumPy array as an NDArray of the same dtype; an mx.np array where those are switched on."""
    if is_np_array():
        return mx_np.array(values, dtype=values.dtype)
    return nd.array(values, dtype=values.dtype)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as e:
        raise ImportError("reading and writing image files needs the package Pillow: pip install pillow") from e
    return Image


def _grey(image: Any) -> np.ndarray:
    if image.format != "PNG" or image.mode in ("L", "1", "LA"):
        return np.array(image.convert("L"))
    # rounded downwards, as libpng does it
    rgb = np.array(image.convert("RGB")).astype(np.int32)
    return ((rgb @ np.array([9798, 19235, 3735], np.int32)) >> 15).astype(np.uint8)


def decode(data: bytes, flag: int = 1, rgb: bool = True, name: str = "imdecode") -> np.ndarray:
    """The uint8 pixels of an encoded image, (height, width, 3) or (height, width).

    Args:
        flag: 1 for three channels, 0 for one, -1 for as many as the image has (with an alpha channel, if any).
        rgb: the order of colours; otherwise BGR.
        name: the name of the function in error messages.

    MXNetError if the bytes are no image that Pillow knows.
    """
    Image = _pillow()
    if not data:
        raise MXNetError(f"{name}: the image is empty: no bytes to decode")
    try:
        image = Image.open(io.BytesIO(data))
        if flag == 0:
            image.draft("L", image.size)  # a JPEG holds the grey image itself
        image.load()
    except Exception as e:  # Pillow's decoders raise errors of many classes on broken files
        raise MXNetError(f"{name}: not an image that can be decoded ({len(data)} bytes): {e}") from e
    if image.mode.startswith(("I;16", "I", "F")) and flag >= 0:
        # 16 bits for each pixel, of which the upper half is kept
        image = Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8))
    if flag == 0:
        return _grey(image)
    if flag > 0:
        mode = "RGB"
    elif image.mode in ("L", "1", "LA"):
        mode = "L"
    else:
        mode = "RGBA" if "A" in image.mode or "transparency" in image.info else "RGB"
    pixels = np.array(image if image.mode == mode else image.convert(mode))
    if not rgb and pixels.ndim == 3:
        pixels[..., :3] = pixels[..., 2::-1].copy()
    return pixels


def encode(pixels: np.ndarray, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """An image file of uint8 pixels, (height, width) or (height, width, 3) in the order BGR.

    Args:
        quality: of a JPEG, 0 to 100; the compression level of a PNG, 0 to 9.
        img_fmt: '.jpg', '.jpeg' or '.png'.
    """
    Image = _pillow()
    pixels = np.asarray(pixels)
    if pixels.ndim == 3:
        pixels = pixels[..., 0] if pixels.shape[2] == 1 else pixels[..., ::-1]
    kind = img_fmt.lower()
    out = io.BytesIO()
    image = Image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8))
    if kind in (".jpg", ".jpeg"):
        image.save(out, "JPEG", quality=quality)
    elif kind == ".png":
        image.save(out, "PNG", compress_level=min(quality, 9))
    else:
        raise ValueError(f"pack_img: img_fmt must be '.jpg', '.jpeg' or '.png', not {img_fmt!r}")
    return out.getvalue()
