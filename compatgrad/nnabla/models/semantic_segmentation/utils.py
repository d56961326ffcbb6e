"""From images to a network's input, and from its output to images."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...utils.image_utils import imresize, imsave
from . import image_preprocess

__all__ = ["ProcessImage", "get_color", "post_process_image", "pre_process_image", "save_image"]

# by category: the colours of PASCAL VOC's labels, then its border and one more for "none"
_COLORS = (
    "000000 800000 008000 808000 000080 780080 008080 808080 400000 c00000 408000 c08000 "
    "400080 c00080 408080 c08080 004000 804000 00c000 80c000 004080 e0e0c0 000000"
)


def get_color() -> np.ndarray:
    """The colour of each category, rows of red, green and blue."""
    return np.array([list(bytes.fromhex(color)) for color in _COLORS.split()])


def pre_process_image(image: np.ndarray, target_h: int, target_w: int) -> np.ndarray:
    """A batch of one image, (1, channels, height, width), as the network takes it."""
    done = image_preprocess.preprocess_image_and_label(image, target_w, target_h)
    return done.transpose(2, 0, 1)[None]


def post_process_image(output: np.ndarray, image: np.ndarray, target_size: Any) -> np.ndarray:
    """The labels `output` of the padded image as those of `image` in its own size."""
    size = image.shape[:2]
    height, width = image_preprocess.fitted(size, target_size)
    return imresize(output[:height, :width], (size[1], size[0]), interpolate="nearest")


def save_image(image_path: Any, label: np.ndarray, color_map: np.ndarray | None = None) -> None:
    """Writes the labels of pixels (height, width) as a picture in the colours of `color_map`."""
    colors = np.asarray(get_color() if color_map is None else color_map)
    picture = colors[label.astype(int)].astype(np.int32)
    imsave(image_path, picture / np.amax(picture))


class ProcessImage:
    """Prepares one image for a network that takes `target_h` times `target_w` pixels, and its labels for the image."""

    def __init__(self, image: np.ndarray, target_h: int, target_w: int) -> None:
        self.image = image
        self.target_h, self.target_w = self.target_size = target_h, target_w

    def pre_process(self) -> np.ndarray:
        """The network's input."""
        return pre_process_image(self.image, self.target_h, self.target_w)

    def post_process(self, output: np.ndarray) -> np.ndarray:
        """The labels `output` (height, width) for the image in its own size."""
        self.post_proc = post_process_image(output, self.image, self.target_size)
        return self.post_proc

    def save_segmentation_image(self, path: Any, color_map: np.ndarray | None = None) -> None:
        """Writes what `post_process` gave as a picture."""
        save_image(path, self.post_proc, color_map)
