"""The functions for images that `scipy.misc` had: an array is scaled to bytes, Pillow changes the image, and the result
is an array again."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

_RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "lanczos": Image.Resampling.LANCZOS,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "cubic": Image.Resampling.BICUBIC,
}


def bytescale(data: np.ndarray, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> np.ndarray:
    """The values between `cmin` and `cmax` (by default the smallest and the largest) as bytes from `low` to `high`. An
    array of bytes is returned as it is."""
    if data.dtype == np.uint8:
        return data
    if high > 255:
        raise ValueError("`high` should be less than or equal to 255.")
    if low < 0:
        raise ValueError("`low` should be greater than or equal to 0.")
    if high < low:
        raise ValueError("`high` should be greater than or equal to `low`.")
    smallest = data.min() if cmin is None else cmin
    largest = data.max() if cmax is None else cmax
    span = largest - smallest
    if span < 0:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scaled = (data - smallest) * (float(high - low) / (span or 1)) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    if not isinstance(im, Image.Image):
        raise TypeError("Input is not a PIL image.")
    if mode is not None:
        im = im if mode == im.mode else im.convert(mode)
    elif im.mode == "P":  # the colours, not their numbers
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """The image of a file as an array: height, width and, if it has several, channels."""
    return fromimage(Image.open(name), flatten, mode)


_MODE_ERROR = "Mode is unknown or incompatible with input array shape."


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: Any = None,
    cmax: Any = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Image.Image:
    """A Pillow image of an array with two axes, or with three of which one has 3 or 4 channels."""
    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    if data.ndim == 2:
        return _gray(data, high, low, cmin, cmax, pal, mode)
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    if channel_axis is None:
        channel_axis = data.shape.index(3 if 3 in data.shape else 4)
    count = data.shape[channel_axis]
    if count not in (3, 4):
        raise ValueError("Channel axis dimension is not valid.")
    pixels = np.moveaxis(bytescale(data, cmin, cmax, high, low), channel_axis, 2)
    mode = mode or ("RGB" if count == 3 else "RGBA")
    counts = {"RGB": 3, "YCbCr": 3, "RGBA": 4, "CMYK": 4}
    if mode not in counts:
        raise ValueError(_MODE_ERROR)
    if counts[mode] != count:
        raise ValueError("Invalid array shape for mode.")
    return Image.frombytes(mode, (pixels.shape[1], pixels.shape[0]), pixels.tobytes())


def _gray(data: np.ndarray, high: int, low: int, cmin: Any, cmax: Any, pal: Any, mode: str | None) -> Image.Image:
    size = (data.shape[1], data.shape[0])
    if mode == "F":
        return Image.frombytes("F", size, data.astype(np.float32).tobytes())
    if mode in (None, "L", "P"):
        image = Image.frombytes("L", size, bytescale(data, cmin, cmax, high, low).tobytes())
        if pal is None and mode == "P":
            pal = np.repeat(np.arange(256), 3)
        if pal is not None:
            image.putpalette(np.asarray(pal, dtype=np.uint8).tobytes())
        return image
    if mode == "1":
        return Image.frombytes("1", size, (data > high).tobytes())
    if mode != "I":
        raise ValueError(_MODE_ERROR)
    smallest = data.min() if cmin is None else cmin
    largest = data.max() if cmax is None else cmax
    scaled = (data * 1.0 - smallest) * (high - low) / (largest - smallest) + low
    return Image.frombytes("I", size, scaled.astype(np.uint32).tobytes())


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Writes an array as an image: its smallest value black, its largest white, unless its values are bytes."""
    toimage(arr, channel_axis=2).save(name, format)


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> np.ndarray:
    return fromimage(toimage(np.asarray(arr)).rotate(angle, resample=_RESAMPLING[interp]))


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """The array as an image of another size: (height, width), a fraction (float) or a percentage (int)."""
    image = toimage(arr, mode=mode)
    if np.issubdtype(type(size), np.signedinteger) or np.issubdtype(type(size), np.floating):
        share = size / 100.0 if np.issubdtype(type(size), np.signedinteger) else size
        target = (int(image.size[0] * share), int(image.size[1] * share))
    else:
        target = (int(size[1]), int(size[0]))
    return fromimage(image.resize(target, resample=_RESAMPLING[interp]))


def imfilter(arr: Any, ftype: str) -> np.ndarray:
    filters = "blur contour detail edge_enhance edge_enhance_more emboss find_edges smooth smooth_more sharpen".split()
    image = toimage(arr)
    if ftype not in filters:
        raise ValueError("Unknown filter type.")
    return fromimage(image.filter(getattr(ImageFilter, ftype.upper())))


def imshow(arr: Any) -> None:
    """Shows an image in the program that the environment variable SCIPY_PIL_IMAGE_VIEWER names, or in `see`."""
    handle, name = tempfile.mkstemp(".png")
    os.close(handle)
    try:
        toimage(arr).save(name)
        viewer = os.environ.get("SCIPY_PIL_IMAGE_VIEWER", "see")
        if subprocess.call(f"{viewer} {name}", shell=True):
            raise RuntimeError("Could not execute image viewer.")
    finally:
        os.unlink(name)
