"""Operators on images: `mxnet.nd.image`.

Images are (height, width, channels), most also in batches (n, height, width, channels). What changes colours takes
integers or floats, and cuts the result to the range of an integer type. Random operators draw from the generator that
`mxnet.random.seed` seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from compatgrad.core.kept_tensors import keep as _keep

from .._image_resize import resize as resized
from ..base import MXNetError
from ._operator import op, operator
from ._random_state import generator
from .ndarray import NDArray

__all__: list[str] = []  # operators are called as nd.image.<name>, not imported by `from nd import *`

_GREY = (0.299, 0.587, 0.114)
# the principal components of ImageNet's colours, times the square roots of their variances
_LIGHTING = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]) * (
    np.array([55.46, 4.794, 1.148])
)


def _check(who: str, data: NDArray, dims: Sequence[int], axes: str = "(height, width, channels)") -> None:
    if data.ndim not in dims:
        batch = f" or (n, {axes[1:]}" if 4 in dims else ""
        raise MXNetError(f"image.{who}: data: expected an image of shape {axes}{batch}, got {data.shape}")


def _uniform(low: float, high: float) -> float:
    u = torch.rand((), generator=generator(torch.device("cpu")), dtype=torch.float64).item()
    return low + (high - low) * u


def _coin() -> bool:
    return _uniform(0, 1) < 0.5


def _like(data: NDArray, tensor: torch.Tensor) -> NDArray:
    return type(data)(tensor)


def _on_floats(data: NDArray, change: Callable[[NDArray], NDArray]) -> NDArray:
    """Applies `change` to the image; integers are computed in float32, and truncated to their dtype."""
    dtype = data.tensor.dtype
    if dtype.is_floating_point:
        return change(data)
    limits = torch.iinfo(dtype)
    y = change(_like(data, data.tensor.to(torch.float32))).tensor
    return _like(data, y.clamp_(limits.min, limits.max).to(dtype))


@_keep(64)
def _constants(values: tuple[float, ...], shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> NDArray:
    return NDArray(torch.tensor(values, dtype=dtype, device=device).reshape(shape))


def _constant(values: Sequence[float], shape: tuple[int, ...], like: NDArray) -> NDArray:
    return _constants(tuple(values), shape, like.tensor.dtype, like.tensor.device)


# ---- shape and range ------------------------------------------------------------------------------------------------
@operator("data", name="_image_to_tensor")
def to_tensor(data):
    """Images (…, height, width, channels) in [0, 255] as float32 (…, channels, height, width) in [0, 1].

    Args:
        data: pixels from 0 to 255, shape (height, width, channels), or a batch of images.

    Returns:
        float32, shape (channels, height, width), or with the batch before.

    Example:
        >>> image = nd.full((2, 3, 3), 255, dtype="uint8")
        >>> y = nd.image.to_tensor(image)
        >>> y.shape, y.asnumpy().max().item()
        ((3, 2, 3), 1.0)
    """
    _check("to_tensor", data, (3, 4))
    axes = (2, 0, 1) if data.ndim == 3 else (0, 3, 1, 2)
    if data.tensor.is_floating_point():
        x = data if data.tensor.dtype == torch.float32 else data.astype(np.float32)
        return op.transpose(x, axes=axes) / 255.0
    return _like(data, data.tensor.permute(axes).contiguous().to(torch.float32).div_(255.0))


@operator("data", name="_image_normalize")
def normalize(data, mean=(0.0,), std=(1.0,)):
    """(data - mean) / std of floats (…, channels, height, width), one number for each channel or for all.

    There are 1 or 3 channels.

    Args:
        data: floating point, shape (channels, height, width), or a batch of images.
        mean: one number, or one for each channel, which is subtracted.
        std: one number, or one for each channel, by which is divided.

    Example:
        >>> nd.image.normalize(nd.ones((3, 1, 1)), mean=(0.0, 0.5, 1.0), std=2.0).asnumpy().ravel()
        array([0.5 , 0.25, 0.  ], dtype=float32)
    """
    _check("normalize", data, (3, 4), "(channels, height, width)")
    channels = data.shape[-3]
    if channels not in (1, 3):
        raise MXNetError(f"image.normalize: data: expected 1 or 3 channels at axis {data.ndim - 3}, got {data.shape}")
    if not data.tensor.is_floating_point():
        raise MXNetError(f"image.normalize: data: expected floating point numbers, got {np.dtype(data.dtype).name}")
    centre, width = _centre_and_width(mean, std, channels, data.tensor.dtype, data.tensor.device)
    return op.div(op.sub(data, centre), width)


def _centre_and_width(mean: Any, std: Any, channels: int, dtype: torch.dtype, device: torch.device) -> list[NDArray]:
    """What `normalize` subtracts, and by what it divides: arrays that broadcast to (channels, height, width)."""
    mean, std = (x if isinstance(x, (int, float, tuple)) else tuple(np.ravel(x).tolist()) for x in (mean, std))
    return _mean_and_std(mean, std, channels, dtype, device)


@_keep(64)
def _mean_and_std(mean: Any, std: Any, channels: int, dtype: torch.dtype, device: torch.device) -> list[NDArray]:
    found = []
    for name, value in (("mean", mean), ("std", std)):
        values = [float(v) for v in np.ravel(value)]
        if len(values) not in (1, channels):
            raise MXNetError(f"image.normalize: {name}: expected 1 or {channels} numbers, got {value}")
        found.append(NDArray(torch.tensor(values, dtype=dtype, device=device).reshape(-1, 1, 1)))
    return found


def _target(size: Any, keep_ratio: bool, h: int, w: int) -> tuple[int, int]:
    """(height, width) of a resized image."""
    size = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    if len(size) not in (1, 2) or min(size) <= 0:
        raise MXNetError(f"image.resize: size: expected (width, height) or one positive number, got {size}")
    if len(size) == 2:
        return int(size[1]), int(size[0])
    s = int(size[0])
    if not keep_ratio:
        return s, s
    return (s * h // w, s) if h > w else (s, s * w // h)


@operator("data", name="_image_resize")
def resize(data, size=(), keep_ratio=False, interp=1):
    """Images in (width, height) `size`; if that is one number, squares, or the shorter side with `keep_ratio`.

    `interp` is 0 for nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos. No gradient.

    Args:
        data: shape (height, width, channels), or a batch of images.
        size: width and height of the result, or one number for both.

    Example:
        >>> nd.image.resize(nd.ones((4, 4, 3)), size=(2, 3)).shape
        (3, 2, 3)
    """
    _check("resize", data, (3, 4))
    interp = 1 if interp is None else interp
    if interp not in range(5):
        raise MXNetError(f"image.resize: interp: expected 0 to 4, got {interp}")
    h, w = _target(size, keep_ratio, *data.shape[-3:-1])
    x = data.asnumpy()
    y = resized(x, h, w, interp) if x.ndim == 3 else np.stack([resized(image, h, w, interp) for image in x])
    return _like(data, torch.from_numpy(np.ascontiguousarray(y)).to(data.tensor.device))


@operator("data", name="_image_crop")
def crop(data, x, y, width, height):
    """The part of images from column `x` and row `y` on, of that width and height.

    Args:
        data: shape (height, width, channels), or a batch of images.
        x: the first column.
        y: the first row.

    Example:
        >>> nd.image.crop(nd.ones((4, 4, 3)), x=1, y=0, width=2, height=3).shape
        (3, 2, 3)
    """
    _check("crop", data, (3, 4))
    rows, columns = data.shape[-3:-1]
    if x < 0 or y < 0 or width <= 0 or height <= 0:
        raise MXNetError(f"image.crop: x={x}, y={y}, width={width}, height={height}: none may be negative, no size 0")
    if x + width > columns:
        raise MXNetError(f"image.crop: x + width = {x + width} is beyond the width {columns} of data {data.shape}")
    if y + height > rows:
        raise MXNetError(f"image.crop: y + height = {y + height} is beyond the height {rows} of data {data.shape}")
    box = (slice(y, y + height), slice(x, x + width))
    return op.copy(data[box if data.ndim == 3 else (slice(None), *box)])


@operator("data", name="_image_flip_left_right")
def flip_left_right(data):
    """The image with left and right exchanged.

    Args:
        data: shape (height, width, channels), or a batch of images.

    Example:
        >>> nd.image.flip_left_right(nd.array([[[1.0], [2.0]]])).asnumpy().ravel()
        array([2., 1.], dtype=float32)
    """
    _check("flip_left_right", data, (3,))
    return op.flip(data, axis=1)


@operator("data", name="_image_flip_top_bottom")
def flip_top_bottom(data):
    """The image with top and bottom exchanged.

    Args:
        data: shape (height, width, channels), or a batch of images.

    Example:
        >>> nd.image.flip_top_bottom(nd.array([[[1.0]], [[2.0]]])).asnumpy().ravel()
        array([2., 1.], dtype=float32)
    """
    _check("flip_top_bottom", data, (3,))
    return op.flip(data, axis=0)


@operator("data", name="_image_random_flip_left_right")
def random_flip_left_right(data):
    """The image, with left and right exchanged in half of all calls.

    Args:
        data: shape (height, width, channels), or a batch of images.

    Example:
        >>> nd.image.random_flip_left_right(nd.ones((4, 5, 3))).shape
        (4, 5, 3)
    """
    _check("random_flip_left_right", data, (3,))
    return op.flip(data, axis=1) if _coin() else op.copy(data)


@operator("data", name="_image_random_flip_top_bottom")
def random_flip_top_bottom(data):
    """The image, with top and bottom exchanged in half of all calls.

    Args:
        data: shape (height, width, channels), or a batch of images.

    Example:
        >>> nd.image.random_flip_top_bottom(nd.ones((4, 5, 3))).shape
        (4, 5, 3)
    """
    _check("random_flip_top_bottom", data, (3,))
    return op.flip(data, axis=0) if _coin() else op.copy(data)


# ---- colours --------------------------------------------------------------------------------------------------------
def _factor(who: str, low: float, high: float) -> float:
    for name, value in (("min_factor", low), ("max_factor", high)):
        if value < 0:
            raise MXNetError(f"image.{who}: {name}: must not be negative, got {value}")
    return _uniform(low, high)


def _grey(x: NDArray) -> NDArray:
    """Shape (height, width, 1)."""
    h, w, channels = x.shape
    if channels == 1:
        return x
    # a product of matrices is much quicker than a sum of three
    return op.reshape(op.linear(op.reshape(x, shape=(h * w, 3)), _constant(_GREY, (1, 3), x), None), shape=(h, w, 1))


def _brighter(x: NDArray, alpha: float) -> NDArray:
    return x * alpha


def _contrasted(x: NDArray, alpha: float) -> NDArray:
    return x * alpha + op.mean(_grey(x), keepdims=True) * (1 - alpha)


def _saturated(x: NDArray, alpha: float) -> NDArray:
    return x if x.shape[2] == 1 else x * alpha + _grey(x) * (1 - alpha)


def _hued(x: NDArray, alpha: float) -> NDArray:
    """Rotates the hue by `alpha` full turns; lightness and saturation stay. No gradient."""
    if x.shape[2] == 1:
        return x
    rgb = x.tensor / 255.0
    r, g, b = rgb.unbind(2)
    high, low = rgb.amax(2), rgb.amin(2)
    spread = high - low
    safe = torch.where(spread > 0, spread, 1.0)
    hue = torch.where(high == r, (g - b) / safe, torch.where(high == g, (b - r) / safe + 2, (r - g) / safe + 4))
    hue = hue / 6 + alpha  # in turns
    # a channel is at its largest within a sixth of a turn from its own hue, and falls linearly over the next sixth
    turned = []
    for at in (0, 1 / 3, 2 / 3):
        away = (hue - at + 0.5).remainder(1.0).sub(0.5).abs()
        turned.append(low + spread * (2 - 6 * away).clamp(0, 1))
    return _like(x, torch.stack(turned, 2) * 255.0)


def _lit(x: NDArray, alphas: Sequence[float]) -> NDArray:
    return x if x.shape[2] == 1 else op.add(x, _constant([float(v) for v in _LIGHTING @ np.array(alphas)], (3,), x))


def _colour_operator(name: str, change: Callable[[NDArray, float], NDArray], doc: str) -> Callable[..., Any]:
    def body(data, min_factor, max_factor):
        _check(name, data, (3,))
        alpha = _factor(name, min_factor, max_factor)
        return _on_floats(data, lambda x: change(x, alpha))

    body.__doc__ = f"""{doc} by a random number in [min_factor, max_factor], neither of them negative.

    Args:
        data: shape (height, width, 3), or a batch of images.

    Example:
        >>> nd.image.{name}(nd.ones((4, 5, 3)), 0.5, 1.5).shape
        (4, 5, 3)
    """
    return operator("data", name=f"_image_{name}")(body)


random_brightness = _colour_operator("random_brightness", _brighter, "The image multiplied")
random_contrast = _colour_operator("random_contrast", _contrasted, "The difference from the mean grey multiplied")
random_saturation = _colour_operator("random_saturation", _saturated, "The difference from the grey image multiplied")
random_hue = _colour_operator("random_hue", _hued, "The hue rotated, 1 being the whole circle,")


@operator("data", name="_image_random_color_jitter")
def random_color_jitter(data, brightness, contrast, saturation, hue):
    """Random changes in random order: brightness, contrast and saturation by factors in 1 ± the argument, and hue by
    an angle in 0 ± `hue`, 1 being the whole circle.

    Args:
        data: shape (height, width, 3).

    Example:
        >>> options = {"brightness": 0.1, "contrast": 0.1, "saturation": 0.1, "hue": 0.1}
        >>> nd.image.random_color_jitter(nd.ones((4, 5, 3)), **options).shape
        (4, 5, 3)
    """
    _check("random_color_jitter", data, (3,))
    kinds = [(_brighter, 1, brightness), (_contrasted, 1, contrast), (_saturated, 1, saturation), (_hued, 0, hue)]
    order = torch.randperm(4, generator=generator(torch.device("cpu"))).tolist()

    def change(x: NDArray) -> NDArray:
        for each, centre, amount in (kinds[i] for i in order):
            if amount > 0:
                x = each(x, _uniform(centre - amount, centre + amount))
        return x

    return _on_floats(data, change) if any(amount > 0 for *_, amount in kinds) else op.copy(data)


@operator("data", name="_image_adjust_lighting")
def adjust_lighting(data, alpha):
    """Adds the principal components of colours, times the three numbers `alpha`.

    Args:
        data: shape (height, width, 3).
        alpha: the weights of the three principal components of colours.

    Example:
        >>> nd.image.adjust_lighting(nd.zeros((1, 1, 3)), alpha=(0.1, 0.0, 0.0)).asnumpy().ravel().round(2)
        array([-3.15, -3.22, -3.24], dtype=float32)
    """
    _check("adjust_lighting", data, (3,))
    if len(alpha) != 3:
        raise MXNetError(f"image.adjust_lighting: alpha: expected 3 numbers, got {alpha}")
    return _on_floats(data, lambda x: _lit(x, alpha))


@operator("data", name="_image_random_lighting")
def random_lighting(data, alpha_std=0.05):
    """Adds the principal components of colours, times random numbers of standard deviation `alpha_std`.

    Args:
        data: shape (height, width, 3).

    Example:
        >>> nd.image.random_lighting(nd.zeros((4, 5, 3))).shape
        (4, 5, 3)
    """
    _check("random_lighting", data, (3,))
    alphas = (torch.randn(3, generator=generator(torch.device("cpu")), dtype=torch.float64) * alpha_std).tolist()
    return _on_floats(data, lambda x: _lit(x, alphas))
