"""Prepares images for a network, and turns its output into images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...utils.image_utils import imresize, imsave
from . import image_preprocess

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ProcessImage", "get_color", "post_process_image", "pre_process_image", "save_image"]

# colours by category: those of PASCAL VOC's labels, of the border, and of "none"
_COLORS = (
    "000000 800000 008000 808000 000080 780080 008080 808080 400000 c00000 408000 c08000 "
    "400080 c00080 408080 c08080 004000 804000 00c000 80c000 004080 e0e0c0 000000"
)


def get_color() -> np.ndarray:
    """The colours of the categories of PASCAL VOC, of the border of objects, and of "none".

    Returns:
        Array (23, 3) of int64: rows of red, green and blue from 0 to 255.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.utils import get_color
        >>> get_color()[1]
        array([128,   0,   0])

    Source: `nnabla.models.semantic_segmentation.utils.get_color` of nnabla 1.39.0.
    """
    return np.array([list(bytes.fromhex(color)) for color in _COLORS.split()])


def pre_process_image(image: np.ndarray, target_h: int, target_w: int) -> np.ndarray:
    """Makes a batch of one image for the network.

    Args:
        image: array (height, width, channels) with values of 0 to 255.
        target_h: height of the network's input in pixels.
        target_w: width of the network's input in pixels.

    Returns:
        Array (1, channels, target_h, target_w) of float32 from -1 to 1.

    Raises:
        IndexError: `image` has no axis of channels.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.utils import pre_process_image
        >>> pre_process_image(np.zeros((2, 3, 3), np.uint8), 4, 4).shape
        (1, 3, 4, 4)

    Source: `nnabla.models.semantic_segmentation.utils.pre_process_image` of nnabla 1.39.0.
    """
    done = image_preprocess.preprocess_image_and_label(image, target_w, target_h)
    return done.transpose(2, 0, 1)[None]


def post_process_image(output: np.ndarray, image: np.ndarray, target_size: Sequence[int]) -> np.ndarray:
    """Converts labels of the network's input to labels of the image in its original size.

    Args:
        output: array (height, width) of labels of the padded image.
        image: the image, an array (height, width, channels).
        target_size: height and width of the network's input.

    Returns:
        Array of the height and width of `image`, of the dtype of `output`.

    Raises:
        IndexError: `image` has fewer than two axes.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.utils import post_process_image
        >>> labels = np.array([[1, 2], [0, 0]], np.uint8)
        >>> post_process_image(labels, np.zeros((1, 2, 3), np.uint8), (2, 2))
        array([[1, 2]], dtype=uint8)

    Source: `nnabla.models.semantic_segmentation.utils.post_process_image` of nnabla 1.39.0.
    """
    size = image.shape[:2]
    height, width = image_preprocess.fitted(size, target_size)
    return imresize(output[:height, :width], (size[1], size[0]), interpolate="nearest")


def save_image(image_path: str, label: np.ndarray, color_map: np.ndarray | None = None) -> None:
    """Writes labels of pixels as an image file.

    Args:
        image_path: path of the file, whose extension determines the format.
        label: array (height, width) of categories.
        color_map: array (categories, 3) of red, green and blue; None for `get_color`.

    Raises:
        FileNotFoundError: there is no such folder.
        IndexError: a category has no colour.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.utils import save_image
        >>> from compatgrad.nnabla.utils.image_utils import imread
        >>> save_image("labels.png", np.array([[0, 1]]))
        >>> imread("labels.png")[0].tolist()
        [[0, 0, 0], [255, 0, 0]]

    Source: `nnabla.models.semantic_segmentation.utils.save_image` of nnabla 1.39.0.
    """
    colors = np.asarray(get_color() if color_map is None else color_map)
    picture = colors[label.astype(int)].astype(np.int32)
    imsave(image_path, picture / np.amax(picture))


class ProcessImage:
    """Prepares one image for a network, and converts the network's labels for the image.

    Args:
        image: array (height, width, channels) with values of 0 to 255.
        target_h: height of the network's input in pixels.
        target_w: width of the network's input in pixels.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation.utils import ProcessImage
        >>> image = ProcessImage(np.zeros((2, 4, 3), np.uint8), 8, 8)
        >>> image.pre_process().shape
        (1, 3, 8, 8)
        >>> image.post_process(np.ones((8, 8), np.uint8)).shape
        (2, 4)

    Source: `nnabla.models.semantic_segmentation.utils.ProcessImage` of nnabla 1.39.0.
    """

    def __init__(self, image: np.ndarray, target_h: int, target_w: int) -> None:
        self.image = image
        self.target_h, self.target_w = self.target_size = target_h, target_w

    def pre_process(self) -> np.ndarray:
        """The network's input, an array (1, channels, target_h, target_w) of float32 from -1 to 1."""
        return pre_process_image(self.image, self.target_h, self.target_w)

    def post_process(self, output: np.ndarray) -> np.ndarray:
        """The labels `output`, an array (target_h, target_w), for the image in its original size."""
        self.post_proc = post_process_image(output, self.image, self.target_size)
        return self.post_proc

    def save_segmentation_image(self, path: str, color_map: np.ndarray | None = None) -> None:
        """Writes the labels that `post_process` returned as an image file; see `save_image`."""
        save_image(path, self.post_proc, color_map)
