"""Prepares images for a network, and draws the boxes that a network returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...utils.image_utils import imresize
from .draw_utils import DrawBoundingBoxes

__all__ = ["LetterBoxTransform", "apply_inverse_letterbox_coordinate_transform", "draw_bounding_boxes", "letterbox"]


def draw_bounding_boxes(
    img: np.ndarray,
    bboxes: np.ndarray,
    names: Sequence[str],
    colors: Sequence[tuple[int, ...]] | None = None,
    thresh: float = 0.5,
) -> np.ndarray:
    """Draws the boxes whose score for a category reaches the threshold, with labels; the labels are printed, too.

    Args:
        img: array (height, width, 3) of uint8.
        bboxes: array (boxes, 5 + categories): a box's centre x and y, width and height in pixels, its objectness and
            the score of each category.
        names: the categories' names.
        colors: red, green and blue, from 0 to 255, for each category; None for random ones, which are always the same.
        thresh: the lowest score for which a box is drawn.

    Returns:
        Array (height, width, 3) of uint8.

    Raises:
        ImportError: neither OpenCV nor Pillow is installed.
        IndexError: a category has no name or no colour.

    Example:
        >>> from compatgrad.nnabla.models.object_detection.utils import draw_bounding_boxes
        >>> boxes = np.array([[20.0, 30.0, 20.0, 10.0, 1.0, 0.9, 0.1]])
        >>> picture = draw_bounding_boxes(np.zeros((40, 40, 3), np.uint8), boxes, ["cat", "dog"])
        [INFO] cat: 90.00%
        >>> picture.shape
        (40, 40, 3)

    Source: `nnabla.models.object_detection.utils.draw_bounding_boxes` of nnabla 1.39.0.
    """
    if colors is None:
        rng = np.random.RandomState(1223)
        colors = [tuple(c) for c in rng.randint(0, 256, (len(names), 3)).tolist()]
    height, width = img.shape[:2]
    canvas = DrawBoundingBoxes(img, colors)
    for box in bboxes:
        found = np.where(box[5:] > thresh)[0]
        if not len(found):
            continue
        label = ", ".join(f"{names[k]}: {box[5 + k] * 100:.2f}%" for k in found)
        print(f"[INFO] {label}")
        x, y, w, h = box[:4]
        corners = np.clip([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 0, [width, height, width, height])
        canvas.draw(tuple(int(c) for c in corners), int(found[0]), label)
    return canvas.get()


def apply_inverse_letterbox_coordinate_transform(
    bboxes: np.ndarray, im_w: int, im_h: int, letterbox_w: float, letterbox_h: float
) -> np.ndarray:
    """Converts boxes of a letterboxed image to boxes of the original image.

    Args:
        bboxes: array (boxes, 4 or more): centre x and y, width and height as fractions of the letterboxed image.
        im_w: width of the original image in pixels.
        im_h: height of the original image in pixels.
        letterbox_w: the fraction of the letterboxed image's width that the image fills.
        letterbox_h: the fraction of its height.

    Returns:
        Array of the shape of `bboxes`, with centres and sizes in pixels of the original image.

    Raises:
        IndexError: `bboxes` has one axis.

    Example:
        >>> from compatgrad.nnabla.models.object_detection.utils import apply_inverse_letterbox_coordinate_transform
        >>> apply_inverse_letterbox_coordinate_transform(np.array([[0.5, 0.5, 0.5, 0.5]]), 100, 50, 1, 0.5)
        array([[50., 25., 50., 50.]])

    Source: `nnabla.models.object_detection.utils.apply_inverse_letterbox_coordinate_transform` of nnabla 1.39.0.
    """
    result = bboxes.copy()
    size, filled = np.array([im_w, im_h]), np.array([letterbox_w, letterbox_h])
    result[:, :2] = (bboxes[:, :2] - (1 - filled) / 2.0) / filled * size
    result[:, 2:4] = bboxes[:, 2:4] * size / filled
    return result


def letterbox(img_orig: np.ndarray, h: int, w: int) -> tuple[np.ndarray, int, int]:
    """Resizes an image to fit into a size, and centres it on a grey background.

    Args:
        img_orig: array (height, width, 3) of uint8.
        h: height of the result in pixels.
        w: width of the result in pixels.

    Returns:
        Array (h, w, 3) of uint8, and width and height of the image in it.

    Raises:
        AssertionError: `img_orig` is not of uint8.
        ValueError: `img_orig` has no axis of channels.

    Example:
        >>> from compatgrad.nnabla.models.object_detection.utils import letterbox
        >>> box, width, height = letterbox(np.zeros((2, 4, 3), np.uint8), 4, 4)
        >>> box[:, 0, 0], (width, height)
        (array([127,   0,   0, 127], dtype=uint8), (4, 2))

    Source: `nnabla.models.object_detection.utils.letterbox` of nnabla 1.39.0.
    """
    assert img_orig.dtype == np.uint8, f"letterbox takes images of uint8, not {img_orig.dtype}"
    im_h, im_w = img_orig.shape[:2]
    new_w, new_h = (w, int(im_h * w / im_w)) if w / im_w < h / im_h else (int(im_w * h / im_h), h)
    box = np.full((h, w, 3), 127, np.uint8)
    top, left = int((h - new_h) / 2), int((w - new_w) / 2)
    box[top : top + new_h, left : left + new_w] = imresize(img_orig, (new_w, new_h))
    return box, new_w, new_h


class LetterBoxTransform:
    """Letterboxes an image; the result is the attribute `image`. It also converts boxes found in the result to boxes of
    the original.

    Args:
        image: array (height, width, 3) of uint8.
        height: height of the letterboxed image in pixels.
        width: width of the letterboxed image in pixels.

    Raises:
        AssertionError: `image` is not of uint8.

    Example:
        >>> from compatgrad.nnabla.models.object_detection.utils import LetterBoxTransform
        >>> transform = LetterBoxTransform(np.zeros((50, 100, 3), np.uint8), height=416, width=416)
        >>> transform.image.shape
        (416, 416, 3)
        >>> transform.inverse_coordinate_transform(np.array([[0.5, 0.5, 0.5, 0.5]]))
        array([[50., 25., 50., 50.]])

    Source: `nnabla.models.object_detection.utils.LetterBoxTransform` of nnabla 1.39.0.
    """

    def __init__(self, image: np.ndarray, height: int, width: int) -> None:
        self.height, self.width = height, width
        self.im_h, self.im_w = image.shape[:2]
        self.image, self.new_w, self.new_h = letterbox(image, height, width)

    def inverse_coordinate_transform(self, coords: np.ndarray) -> np.ndarray:
        """Converts boxes (boxes, 4 or more), given as fractions of the letterboxed image, to boxes in pixels of the
        original image."""
        return apply_inverse_letterbox_coordinate_transform(
            coords, self.im_w, self.im_h, self.new_w / self.width, self.new_h / self.height
        )
