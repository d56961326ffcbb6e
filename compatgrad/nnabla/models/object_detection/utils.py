"""From images to a network's input, and from its boxes to images."""

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
    """`img` with the boxes in which a category scores more than `thresh`, labelled and printed.

    A box is its centre x and y, width, height (in pixels), objectness and the score of each category. Colours are
    random, and always the same, unless given.
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
    """Boxes in parts of the letterboxed image as boxes in pixels of the original one of size `im_w`, `im_h`.

    `letterbox_w`, `letterbox_h`: the part of the box that the image fills.
    """
    result = bboxes.copy()
    size, filled = np.array([im_w, im_h]), np.array([letterbox_w, letterbox_h])
    result[:, :2] = (bboxes[:, :2] - (1 - filled) / 2.0) / filled * size
    result[:, 2:4] = bboxes[:, 2:4] * size / filled
    return result


def letterbox(img_orig: np.ndarray, h: int, w: int) -> tuple[np.ndarray, int, int]:
    """An image of bytes in the middle of a grey one of `h` times `w`, as large as fits; with its width and height."""
    assert img_orig.dtype == np.uint8, f"letterbox takes images of uint8, not {img_orig.dtype}"
    im_h, im_w = img_orig.shape[:2]
    new_w, new_h = (w, int(im_h * w / im_w)) if w / im_w < h / im_h else (int(im_w * h / im_h), h)
    box = np.full((h, w, 3), 127, np.uint8)
    top, left = int((h - new_h) / 2), int((w - new_w) / 2)
    box[top : top + new_h, left : left + new_w] = imresize(img_orig, (new_w, new_h))
    return box, new_w, new_h


class LetterBoxTransform:
    """Letterboxes an image, as `image`, and takes boxes found in that back to the original."""

    def __init__(self, image: np.ndarray, height: int, width: int) -> None:
        self.height, self.width = height, width
        self.im_h, self.im_w = image.shape[:2]
        self.image, self.new_w, self.new_h = letterbox(image, height, width)

    def inverse_coordinate_transform(self, coords: np.ndarray) -> np.ndarray:
        """Boxes in parts of the letterboxed image as boxes in pixels of the original."""
        return apply_inverse_letterbox_coordinate_transform(
            coords, self.im_w, self.im_h, self.new_w / self.width, self.new_h / self.height
        )
