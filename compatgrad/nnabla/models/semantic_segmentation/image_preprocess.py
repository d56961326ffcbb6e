"""Preprocessing of images for the networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...utils.image_utils import imresize

__all__ = ["cast", "pad", "preprocess_image_and_label", "resize", "zero_mean_unit_range"]


def fitted(size: Any, into: Any) -> tuple[int, int]:
    """Height and width of an image that is scaled to fit into another size with the same proportions.

    Args:
        size: height and width of the image.
        into: height and width into which the image must fit.

    Returns:
        Height and width in pixels, rounded down.

    Raises:
        ValueError: the arguments have different numbers of elements.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.image_preprocess import fitted
        >>> fitted((2, 4), (8, 8))
        (4, 8)

    Source: compatgrad's own.
    """
    ratio = min(np.divide(into, size))
    return int(size[0] * ratio), int(size[1] * ratio)


def resize(image: np.ndarray, desired_size: Any) -> np.ndarray:
    """Scales an image, or labels, to fit into a size.

    Args:
        image: array (height, width, channels); one channel means labels, for which the nearest pixel is taken instead
            of an interpolation.
        desired_size: height and width into which the result must fit.

    Returns:
        Array (height, width, channels) of the dtype of `image`; (height, width) for labels.

    Raises:
        IndexError: `image` has no axis of channels.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.image_preprocess import resize
        >>> resize(np.zeros((2, 2, 3), np.uint8), (4, 6)).shape
        (4, 4, 3)

    Source: `nnabla.models.semantic_segmentation.image_preprocess.resize` of nnabla 1.39.0.
    """
    height, width = fitted(image.shape[:2], desired_size)
    if image.shape[2] == 1:
        return imresize(image, (width, height), interpolate="nearest")
    return imresize(image, (width, height))


def zero_mean_unit_range(image: np.ndarray) -> np.ndarray:
    """Maps values from [0, 255] to [-1, 1]: 2 / 255 * image - 1.

    Args:
        image: array of any shape.

    Returns:
        Array of the same shape, floating point.

    Raises:
        TypeError: `image` is not an array.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.image_preprocess import zero_mean_unit_range
        >>> zero_mean_unit_range(np.array([0.0, 255.0]))
        array([-1.,  1.])

    Source: `nnabla.models.semantic_segmentation.image_preprocess.zero_mean_unit_range` of nnabla 1.39.0.
    """
    return (2.0 / 255.0) * image - 1.0


def cast(image: np.ndarray) -> np.ndarray:
    """An image as float32.

    Args:
        image: array of any dtype and shape.

    Returns:
        Array of float32 of the same shape.

    Raises:
        AttributeError: `image` is not an array.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.image_preprocess import cast
        >>> cast(np.array([1, 2]))
        array([1., 2.], dtype=float32)

    Source: `nnabla.models.semantic_segmentation.image_preprocess.cast` of nnabla 1.39.0.
    """
    return image.astype(np.float32)


def pad(image: np.ndarray, desired_size: Any = (513, 513), value: float | None = None) -> np.ndarray:
    """Pads an image with pixels below and to the right.

    Args:
        image: array (height, width, channels).
        desired_size: height and width of the result; a longer side stays unchanged.
        value: value of the new pixels; None for grey, 127.5.

    Returns:
        Array (height, width, channels) of the dtype of `image`.

    Raises:
        ValueError: `image` has no axis of channels.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.image_preprocess import pad
        >>> pad(np.zeros((1, 2, 1)), (2, 2), value=1)[..., 0]
        array([[0., 0.],
               [1., 1.]])

    Source: `nnabla.models.semantic_segmentation.image_preprocess.pad` of nnabla 1.39.0.
    """
    more = [(0, max(wanted - n, 0)) for n, wanted in zip(image.shape[:2], desired_size, strict=False)]
    return np.pad(image, (*more, (0, 0)), mode="constant", constant_values=127.5 if value is None else value)


def preprocess_image_and_label(image: np.ndarray, target_width: int = 513, target_height: int = 513) -> np.ndarray:
    """Prepares an image for the networks: scales it to fit, pads it, and maps its values to [-1, 1].

    Args:
        image: array (height, width, channels) with values of 0 to 255.
        target_width: width of the result in pixels.
        target_height: height of the result in pixels.

    Returns:
        Array (target_height, target_width, channels) of float32.

    Raises:
        IndexError: `image` has no axis of channels.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.image_preprocess import preprocess_image_and_label
        >>> done = preprocess_image_and_label(np.zeros((2, 3, 3), np.uint8), 6, 6)
        >>> done.shape, float(done[0, 0, 0]), float(done[5, 0, 0])
        ((6, 6, 3), -1.0, 0.0)

    Source: `nnabla.models.semantic_segmentation.image_preprocess.preprocess_image_and_label` of nnabla 1.39.0.
    """
    size = (target_height, target_width)
    return zero_mean_unit_range(pad(resize(cast(image), size), desired_size=size))
