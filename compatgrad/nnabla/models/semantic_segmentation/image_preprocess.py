"""Images as the networks take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...utils.image_utils import imresize

__all__ = ["cast", "pad", "preprocess_image_and_label", "resize", "zero_mean_unit_range"]


def fitted(size: Any, into: Any) -> tuple[int, int]:
    """Height and width of an image of `size` made to fit into another size, in the same proportions."""
    ratio = min(np.divide(into, size))
    return int(size[0] * ratio), int(size[1] * ratio)


def resize(image: np.ndarray, desired_size: Any) -> np.ndarray:
    """`image` (height, width, channels) as large as fits into `desired_size`; labels, of one channel, by the nearest
    pixel."""
    height, width = fitted(image.shape[:2], desired_size)
    if image.shape[2] == 1:
        return imresize(image, (width, height), interpolate="nearest")
    return imresize(image, (width, height))


def zero_mean_unit_range(image: np.ndarray) -> np.ndarray:
    """Values of 0 to 255 as -1 to 1."""
    return (2.0 / 255.0) * image - 1.0


def cast(image: np.ndarray) -> np.ndarray:
    """`image` as float32."""
    return image.astype(np.float32)


def pad(image: np.ndarray, desired_size: Any = (513, 513), value: float | None = None) -> np.ndarray:
    """`image` with `value`, by default grey, below and to the right up to `desired_size`."""
    more = [(0, max(wanted - n, 0)) for n, wanted in zip(image.shape[:2], desired_size, strict=False)]
    return np.pad(image, (*more, (0, 0)), mode="constant", constant_values=127.5 if value is None else value)


def preprocess_image_and_label(image: np.ndarray, target_width: int = 513, target_height: int = 513) -> np.ndarray:
    """`image` as float32 from -1 to 1, made to fit and padded."""
    size = (target_height, target_width)
    return zero_mean_unit_range(pad(resize(cast(image), size), desired_size=size))
