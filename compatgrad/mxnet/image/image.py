"""Reading, resizing and cropping of images: NDArrays of shape (height, width, channels)."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from .. import ndarray as nd
from .._docs import sharing
from .._image_codec import array_of, decode
from .._image_resize import resize
from ..base import MXNetError, numeric_types

__all__ = [
    "imread",
    "imdecode",
    "imresize",
    "imrotate",
    "random_rotate",
    "scale_down",
    "copyMakeBorder",
    "resize_short",
    "fixed_crop",
    "random_crop",
    "center_crop",
    "color_normalize",
    "random_size_crop",
]

Box = tuple[int, int, int, int]


def _given(out: nd.NDArray | None, result: nd.NDArray) -> nd.NDArray:
    if out is None:
        return result
    out[:] = result
    return out


def _decoded(data: bytes, flag: int, to_rgb: bool, out: nd.NDArray | None, name: str) -> nd.NDArray:
    if flag not in (0, 1):
        raise MXNetError(f"{name}: flag must be 0 (grey) or 1 (colours), got {flag}")
    pixels = decode(data, int(flag), bool(to_rgb), name)
    return _given(out, array_of(pixels[..., None] if pixels.ndim == 2 else pixels))


def imread(filename: str, flag: int = 1, to_rgb: bool = True, out: nd.NDArray | None = None) -> nd.NDArray:
    """The image in a file.

    Args:
        filename: the path.
        flag: 1 for three channels, 0 for a grey image.
        to_rgb: colours in the order RGB, otherwise BGR.
        out: array that takes the image.

    Returns:
        A uint8 array of shape (height, width, 3), or (height, width, 1) for a grey image.

    Raises:
        MXNetError: there is no such file, no image in it, or `flag` is another number.

    Example:
        >>> import pathlib
        >>> record = mx.recordio.pack_img((0, 0, 0, 0), np.full((2, 3, 3), 9, np.uint8), img_fmt=".png")
        >>> written = pathlib.Path("nine.png").write_bytes(mx.recordio.unpack(record)[1])
        >>> mx.image.imread("nine.png").shape
        (2, 3, 3)

    Source: `mxnet.image.imread` of MXNet 1.9.1.
    """
    try:
        with open(os.fspath(filename), "rb") as f:
            data = f.read()
    except OSError as e:
        raise MXNetError(f"imread: cannot read {filename!r}: {e.strerror}") from e
    return _decoded(data, flag, to_rgb, out, f"imread: {filename!r}")


def imdecode(buf: Any, flag: int = 1, to_rgb: bool = True, out: nd.NDArray | None = None) -> nd.NDArray:
    """The image that bytes hold.

    Args:
        buf: bytes, a bytearray, or an array of uint8.
        flag: 1 for three channels, 0 for a grey image.
        to_rgb: colours in the order RGB, otherwise BGR.
        out: array that takes the image.

    Returns:
        A uint8 array of shape (height, width, 3), or (height, width, 1) for a grey image.

    Raises:
        ValueError: `buf` is something else.
        MXNetError: the bytes are no image, or `flag` is another number.

    Example:
        >>> record = mx.recordio.pack_img((0, 0, 0, 0), np.full((2, 3, 3), 9, np.uint8), img_fmt=".png")
        >>> mx.image.imdecode(mx.recordio.unpack(record)[1]).asnumpy()[0, 0]
        array([9, 9, 9], dtype=uint8)

    Source: `mxnet.image.imdecode` of MXNet 1.9.1.
    """
    if isinstance(buf, nd.NDArray):
        buf = buf.asnumpy()
    elif not isinstance(buf, (bytes, bytearray, memoryview, np.ndarray)):
        raise ValueError(f"imdecode: buf must be bytes, a bytearray or an array of uint8, not {type(buf).__name__}")
    return _decoded(bytes(buf), flag, to_rgb, out, "imdecode")


def imresize(src: nd.NDArray, w: int, h: int, interp: int = 1, out: nd.NDArray | None = None) -> nd.NDArray:
    """An image in another size, without a gradient; the pixels are those of OpenCV.

    Args:
        src: the image, of shape (height, width, channels).
        w, h: width and height of the result.
        interp: 0 for nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos over 8 x 8 pixels, 5 exact bilinear.
        out: array that takes the result.

    Returns:
        An array of shape (h, w, channels) and of the dtype of `src`.

    Raises:
        MXNetError: `interp` is another number, a size is not positive, or the image has not three axes.

    Example:
        >>> mx.image.imresize(nd.array([[[0], [4]]]), w=4, h=1).asnumpy().ravel()
        array([0., 1., 3., 4.], dtype=float32)

    Source: `mxnet.image.imresize` of MXNet 1.9.1.
    """
    if interp not in range(6):
        raise MXNetError(f"imresize: interp must be 0 to 5, not {interp}")
    if src.ndim != 3:
        raise MXNetError(f"imresize: expected an image of shape (height, width, channels), got {src.shape}")
    if w <= 0 or h <= 0 or 0 in src.shape:
        raise MXNetError(f"imresize: cannot make an image of width {w} and height {h} of one of shape {src.shape}")
    return _given(out, array_of(resize(src.asnumpy(), int(h), int(w), interp)))


_BORDERS = ("constant", "edge", "symmetric", "wrap", "reflect")


def copyMakeBorder(
    src: nd.NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: nd.NDArray | None = None,
) -> nd.NDArray:
    """An image with a border.

    Args:
        src: the image, of shape (height, width, channels).
        top, bot, left, right: pixels of the border at each side.
        type: 0 for a constant, 1 for the outermost pixels, 2 and 4 for a mirror image with and without them, 3 for the
            opposite side.
        value: the constant.
        values: a constant for each channel, instead of `value`.
        out: array that takes the result.

    Returns:
        An array of shape (top + height + bot, left + width + right, channels).

    Raises:
        MXNetError: `type` is another number.
        ValueError: there are not as many `values` as channels, or a width is negative.
        IndexError: the image has not three axes.

    Example:
        >>> mx.image.copyMakeBorder(nd.array([[[1], [2]]]), 0, 0, 1, 2, type=1).asnumpy().ravel()
        array([1., 1., 2., 2., 2.], dtype=float32)

    Source: `mxnet.image.copyMakeBorder` of MXNet 1.9.1.
    """
    if not 0 <= type < len(_BORDERS):
        raise MXNetError(f"copyMakeBorder: type must be 0 to {len(_BORDERS) - 1}, not {type}")
    x = src.asnumpy()
    widths = ((top, bot), (left, right), (0, 0))
    if type == 0:
        y = np.empty((x.shape[0] + top + bot, x.shape[1] + left + right, x.shape[2]), x.dtype)
        y[:] = values if len(values) else value
        y[top : top + x.shape[0], left : left + x.shape[1]] = x
    else:
        y = np.pad(x, widths, _BORDERS[type])
    return _given(out, array_of(y))


def scale_down(src_size: tuple[int, int], size: tuple[float, float]) -> tuple[int, int]:
    """Scales a size down, with its proportions, until it fits into another size.

    Args:
        src_size: (width, height) of what it must fit into.
        size: (width, height).

    Returns:
        (width, height), rounded down.

    Raises:
        TypeError, ValueError: a size is no pair.

    Example:
        >>> mx.image.scale_down((640, 480), (720, 120))
        (640, 106)

    Source: `mxnet.image.scale_down` of MXNet 1.9.1.
    """
    w, h = size
    most_w, most_h = src_size
    if most_h < h:
        w, h = float(w * most_h) / h, most_h
    if most_w < w:
        w, h = most_w, float(h * most_w) / w
    return int(w), int(h)


def _get_interp_method(interp: int, sizes: tuple[int, ...] = ()) -> int:
    """The interpolation: 9 chooses by `sizes` (old height, old width, new height, new width), 10 at random."""
    if interp == 9:
        if not sizes:
            return 2
        if len(sizes) != 4:
            raise AssertionError(f"interp 9 needs the old and the new height and width, got {sizes}")
        h, w, new_h, new_w = sizes
        if new_h > h and new_w > w:
            return 2
        return 3 if new_h < h and new_w < w else 1
    if interp == 10:
        return random.randint(0, 4)
    if interp not in (0, 1, 2, 3, 4):
        raise ValueError(f"Unknown interp method {interp}: expected 0 to 4, 9 or 10")
    return interp


def resize_short(src: nd.NDArray, size: int, interp: int = 2) -> nd.NDArray:
    """An image in its proportions, resized by its shorter side.

    Args:
        src: the image, of shape (height, width, channels).
        size: the shorter side, in pixels; the longer one is rounded down.
        interp: the interpolation, as in `imresize`; 9 chooses by the sizes, 10 at random.

    Returns:
        The image.

    Raises:
        ValueError: there is no such interpolation, or the image has not three axes.
        MXNetError: `size` is not positive.

    Example:
        >>> mx.image.resize_short(nd.zeros((4, 6, 3)), 2).shape
        (2, 3, 3)

    Source: `mxnet.image.resize_short` of MXNet 1.9.1.
    """
    h, w, _ = src.shape
    new_h, new_w = (size * h // w, size) if h > w else (size, size * w // h)
    return imresize(src, new_w, new_h, interp=_get_interp_method(interp, (h, w, new_h, new_w)))


def fixed_crop(
    src: nd.NDArray, x0: int, y0: int, w: int, h: int, size: tuple[int, int] | None = None, interp: int = 2
) -> nd.NDArray:
    """A part of an image, resized.

    Args:
        src: the image, of shape (height, width, channels).
        x0, y0: its left and upper end.
        w, h: its width and height.
        size: (width, height) of the result; None leaves it as it is.
        interp: the interpolation; see `resize_short`.

    Returns:
        The part.

    Raises:
        ValueError: there is no such interpolation.
        MXNetError: the part is empty, and has to be resized.

    Example:
        >>> mx.image.fixed_crop(nd.array([[[1], [2], [3]]]), 1, 0, 2, 1).asnumpy().ravel()
        array([2., 3.], dtype=float32)

    Source: `mxnet.image.fixed_crop` of MXNet 1.9.1.
    """
    out = src[y0 : y0 + h, x0 : x0 + w]
    if size is None or (w, h) == tuple(size):
        return out
    return imresize(out, *size, interp=_get_interp_method(interp, (h, w, size[1], size[0])))


_CROP = """
    Args:
        src: the image, of shape (height, width, channels).
        size: (width, height) of the result.
        interp: the interpolation; see `resize_short`.

    Returns:
        The part, and its box (left, top, width, height).

    Raises:
        ValueError: there is no such interpolation, or the image has not three axes.

    Source: `mxnet.image.{name}` of MXNet 1.9.1.
    """


@sharing(_CROP)
def random_crop(src: nd.NDArray, size: tuple[int, int], interp: int = 2) -> tuple[nd.NDArray, Box]:
    """A random part of an image, of a smaller size and resized if the image is smaller.

    Example:
        >>> part, box = mx.image.random_crop(nd.zeros((4, 6, 3)), (3, 2))
        >>> part.shape, box[2:]
        ((2, 3, 3), (3, 2))
    """
    h, w, _ = src.shape
    new_w, new_h = scale_down((w, h), size)
    x0 = random.randint(0, w - new_w)
    y0 = random.randint(0, h - new_h)
    return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)


@sharing(_CROP)
def center_crop(src: nd.NDArray, size: tuple[int, int], interp: int = 2) -> tuple[nd.NDArray, Box]:
    """The middle of an image, of a smaller size and resized if the image is smaller.

    Example:
        >>> part, box = mx.image.center_crop(nd.zeros((4, 6, 3)), (2, 2))
        >>> part.shape, box
        ((2, 2, 3), (2, 1, 2, 2))
    """
    h, w, _ = src.shape
    new_w, new_h = scale_down((w, h), size)
    x0, y0 = int((w - new_w) / 2), int((h - new_h) / 2)
    return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)


def color_normalize(src: nd.NDArray, mean: Any, std: Any = None) -> nd.NDArray:
    """(src - mean) / std, written into `src`.

    Args:
        src: the image, of shape (height, width, channels).
        mean: an array that broadcasts to it, of its dtype, None for 0.
        std: an array that broadcasts to it, of its dtype, None for 1.

    Returns:
        `src`.

    Raises:
        MXNetError: dtypes differ, or shapes do not broadcast.

    Example:
        >>> mx.image.color_normalize(nd.ones((1, 1, 3)), nd.array([1, 2, 3]), nd.array([2, 2, 2])).asnumpy().ravel()
        array([ 0. , -0.5, -1. ], dtype=float32)

    Source: `mxnet.image.color_normalize` of MXNet 1.9.1.
    """
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def random_size_crop(
    src: nd.NDArray, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
) -> tuple[nd.NDArray, Box]:
    """A random part of an image, of random size and proportions, resized; the middle if ten tries do not fit.

    Args:
        src: the image, of shape (height, width, channels).
        size: (width, height) of the result.
        area: share of the image's area: (smallest, largest), or the smallest, and the largest is 1.
        ratio: (smallest, largest) width over height.
        interp: the interpolation; see `resize_short`.
        **kwargs: `min_area`, an older name of `area`.

    Returns:
        The part, and its box (left, top, width, height).

    Raises:
        AssertionError: there is another keyword argument.
        ValueError: there is no such interpolation, or the image has not three axes.

    Example:
        >>> part, box = mx.image.random_size_crop(nd.zeros((40, 60, 3)), (3, 2), (0.25, 0.25), (1, 1))
        >>> part.shape, box[2:]
        ((2, 3, 3), (24, 24))

    Source: `mxnet.image.random_size_crop` of MXNet 1.9.1.
    """
    h, w, _ = src.shape
    if "min_area" in kwargs:
        warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=2)
        area = kwargs.pop("min_area")
    if kwargs:
        raise AssertionError(f"random_size_crop: unexpected arguments {sorted(kwargs)}")
    if isinstance(area, numeric_types):
        area = (area, 1.0)
    for _ in range(10):
        target = random.uniform(area[0], area[1]) * h * w
        shape = np.exp(random.uniform(np.log(ratio[0]), np.log(ratio[1])))
        new_w, new_h = int(round(np.sqrt(target * shape))), int(round(np.sqrt(target / shape)))
        if new_w <= w and new_h <= h:
            x0 = random.randint(0, w - new_w)
            y0 = random.randint(0, h - new_h)
            return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)
    return center_crop(src, size, interp)


def _centred(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32) - (n - 1) / 2


def _zoom(radians: np.ndarray, h: int, w: int, inwards: bool) -> np.ndarray:
    """The factor by which a rotated image must be scaled so that no border shows (inwards), or all of the image."""
    radius, corner, angle = np.hypot(h, w), np.arctan(h / w), np.abs(radians)
    x = np.maximum(*(np.abs(radius * np.cos(corner + s * angle)) for s in (1, -1)))
    y = np.maximum(*(np.abs(radius * np.sin(corner + s * angle)) for s in (1, -1)))
    return np.minimum(w / x, h / y) if inwards else np.maximum(x / w, y / h)


def imrotate(src: nd.NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> nd.NDArray:
    """Images rotated about their centres; pixels from outside of an image are 0.

    Args:
        src: a float32 image of shape (channels, height, width), or a batch of them.
        rotation_degrees: the angle in degrees, a number, or one for each image of a batch.
        zoom_in: enlarges, so that no empty border shows.
        zoom_out: reduces, so that the whole image shows.

    Returns:
        An array of the shape of `src`.

    Raises:
        ValueError: both zooms, another number of axes, or not as many angles as images.
        TypeError: the dtype is not float32, or the angle of a single image is no number.

    Example:
        >>> mx.image.imrotate(nd.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]), 90).asnumpy().round(3)
        array([[[3., 6., 9.],
                [2., 5., 8.],
                [1., 4., 7.]]], dtype=float32)

    Source: `mxnet.image.imrotate` of MXNet 1.9.1.
    """
    if zoom_in and zoom_out:
        raise ValueError("imrotate: zoom_in and zoom_out cannot both be True")
    if src.dtype != np.float32:
        raise TypeError(f"imrotate: only float32 images can be rotated, not {np.dtype(src.dtype)}")
    single = src.ndim == 3
    if single:
        if not isinstance(rotation_degrees, Number):
            kind = type(rotation_degrees).__name__
            raise TypeError(f"imrotate: rotation_degrees of a single image must be a number, got {kind}")
        src = src.expand_dims(axis=0)
    elif src.ndim != 4:
        raise ValueError(f"imrotate: expected an image or a batch of images, 3 or 4 axes, got shape {src.shape}")
    n, _, h, w = src.shape
    if isinstance(rotation_degrees, Number):
        degrees = np.full(n, rotation_degrees, np.float32)
    elif len(rotation_degrees) != n:
        raise ValueError(f"imrotate: {n} images need as many angles, got {len(rotation_degrees)}")
    else:
        degrees = rotation_degrees.asnumpy() if isinstance(rotation_degrees, nd.NDArray) else rotation_degrees
    radians = (np.asarray(degrees, np.float32) * (np.pi / 180)).reshape(n, 1, 1)
    y, x = _centred(h)[:, None], _centred(w)[None, :]
    grid = np.stack(
        [
            (x * np.cos(radians) - y * np.sin(radians)) / ((w - 1) / 2),
            (x * np.sin(radians) + y * np.cos(radians)) / ((h - 1) / 2),
        ],
        axis=1,
    )
    if zoom_in or zoom_out:
        grid = grid * _zoom(radians, h, w, zoom_in)[:, None]
    rotated = nd.BilinearSampler(src, nd.array(grid, ctx=src.context, dtype="float32"))
    return rotated[0] if single else rotated


def random_rotate(
    src: nd.NDArray, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False
) -> nd.NDArray:
    """Images rotated by random angles, one for each; see `imrotate`.

    Args:
        src: a float32 image of shape (channels, height, width), or a batch of them.
        angle_limits: (smallest, largest) angle in degrees.
        zoom_in: enlarges, so that no empty border shows.
        zoom_out: reduces, so that the whole image shows.

    Returns:
        An array of the shape of `src`.

    Raises:
        ValueError: both zooms, or another number of axes.
        TypeError: the dtype is not float32.

    Example:
        >>> mx.image.random_rotate(nd.ones((1, 3, 3)), (-10, 10)).shape
        (1, 3, 3)

    Source: `mxnet.image.random_rotate` of MXNet 1.9.1.
    """
    degrees = np.random.uniform(*angle_limits, size=None if src.ndim == 3 else src.shape[0])
    return imrotate(src, degrees if src.ndim == 3 else nd.array(degrees), zoom_in=zoom_in, zoom_out=zoom_out)
