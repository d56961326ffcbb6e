"""Changes of an image's colours in bytes, rounded as OpenCV rounds them. The channels of an image are R, G, B."""

from __future__ import annotations

import numpy as np

# eigenvectors of the colours of ImageNet's pictures times the roots of their eigenvalues, for R, G, B
_MAIN_COLOURS = np.float32([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
_MAIN_COLOURS = _MAIN_COLOURS * np.float32([55.46, 4.794, 1.148])


def _bytes(x: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(x), 0, 255).astype(np.uint8)


def scaled(x: np.ndarray, factor: float, shift: float = 0.0) -> np.ndarray:
    """x * factor + shift."""
    return _bytes(x.astype(np.float32) * np.float32(factor) + np.float32(shift))


def gray(x: np.ndarray) -> np.ndarray:
    """The grey of MXNet's augmenter: of channels in the order B, G, R, which it takes for R, G, B."""
    r, g, b = (x[..., i].astype(np.int32) for i in (2, 1, 0))
    return ((r * 9798 + g * 19235 + b * 3735 + (1 << 14)) >> 15).astype(np.uint8)


def with_contrast(x: np.ndarray, factor: float) -> np.ndarray:
    """Moved away from the image's mean grey, or towards it."""
    mean = np.float32(gray(x).mean(dtype=np.float64))
    return scaled(x, factor, float((1 - np.float32(factor)) * mean))


def with_saturation(x: np.ndarray, factor: float) -> np.ndarray:
    """Moved away from the grey of each pixel, or towards it."""
    factor32 = np.float32(factor)
    return _bytes(x.astype(np.float32) * factor32 + gray(x)[..., None].astype(np.float32) * (1 - factor32))


def with_noise_of_main_colours(x: np.ndarray, amounts: tuple[float, float, float]) -> np.ndarray:
    """Plus amounts of the directions in which the colours of ImageNet's pictures differ most."""
    shift = _MAIN_COLOURS @ np.float32(amounts)
    return np.clip(np.trunc(x.astype(np.float32) + shift), 0, 255).astype(np.uint8)


def with_hls(x: np.ndarray, hue: int, lightness: int, saturation: int) -> np.ndarray:
    """Plus whole numbers in hue, of 180 steps, and in lightness and saturation, of 255."""
    hls = _to_hls(x).astype(np.int32) + np.int32([hue, lightness, saturation])
    return _from_hls(np.clip(hls, 0, [180, 255, 255]).astype(np.uint8))


def _to_hls(x: np.ndarray) -> np.ndarray:
    rgb = x.astype(np.float32) * np.float32(1 / 255)
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    high, low = rgb.max(-1), rgb.min(-1)
    apart, together = high - low, high + low
    lightness = together * np.float32(0.5)
    coloured = apart > np.finfo(np.float32).eps
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(lightness < 0.5, apart / together, apart / (2 - together))
        unit = np.float32(60) / apart
        hue = np.where(
            high == r, (g - b) * unit, np.where(high == g, (b - r) * unit + 120, (r - g) * unit + np.float32(240))
        )
    hue = np.where(hue < 0, hue + 360, hue)
    hue, saturation = np.where(coloured, hue, 0), np.where(coloured, saturation, 0)
    return _bytes(np.stack([hue * np.float32(0.5), lightness * 255, saturation * 255], -1))


def _from_hls(hls: np.ndarray) -> np.ndarray:
    hue = hls[..., 0].astype(np.float32) * np.float32(6 / 180)
    lightness, saturation = (hls[..., i].astype(np.float32) * np.float32(1 / 255) for i in (1, 2))
    second = np.where(
        lightness <= 0.5, lightness * (1 + saturation), lightness + saturation - lightness * saturation
    ).astype(np.float32)
    first = 2 * lightness - second
    hue = np.where(hue >= 6, hue - 6, hue)
    sector = np.floor(hue).astype(np.int64)
    part = hue - sector
    table = np.stack([second, first, first + (second - first) * (1 - part), first + (second - first) * part], -1)
    order = np.array([[0, 3, 1], [2, 0, 1], [1, 0, 3], [1, 2, 0], [3, 1, 0], [0, 1, 2]])[sector]  # R, G, B
    return _bytes(np.take_along_axis(table, order, -1) * 255)
