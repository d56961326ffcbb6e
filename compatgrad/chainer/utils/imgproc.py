"""Image processing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy


def oversample(images: Sequence[numpy.ndarray], crop_dims: Sequence[int]) -> numpy.ndarray:
    """Ten crops of every image: the four corners and the centre, and those five mirrored.

    Args:
        images: images of one shape (c, H, W).
        crop_dims: height and width (h, w) of the crops.

    Returns:
        Array of shape (10 * number of images, c, h, w) and the images' dtype, the ten crops of an image one after the
        other.

    Raises:
        IndexError: the list of images is empty.
        ValueError: the images do not have 3 axes, `crop_dims` does not have two numbers, or a crop is larger than an
            image.

    Example:
        >>> chainer.utils.imgproc.oversample([np.zeros((3, 8, 8))], (4, 4)).shape
        (10, 3, 4, 4)

    Source: `chainer.utils.imgproc.oversample` of Chainer 7.8.1.
    """
    _, height, width = images[0].shape
    h, w = crop_dims
    bottom, right = height - h, width - w
    centre = (int(height / 2 - h / 2), int(width / 2 - w / 2))
    origins = [(0, 0), (0, right), (bottom, 0), (bottom, right), centre]
    crops = []
    for image in images:
        plain = [image[:, y : y + h, x : x + w] for y, x in origins]
        crops += plain + [crop[:, :, ::-1] for crop in plain]
    return numpy.stack(crops)
