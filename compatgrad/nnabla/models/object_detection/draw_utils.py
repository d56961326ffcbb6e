"""Draws boxes on images, with OpenCV where it is installed and otherwise with Pillow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["DrawBoundingBoxes"]


class DrawBoundingBoxes:
    """Draws boxes on a copy of an image, with OpenCV where it is installed and otherwise with Pillow.

    Args:
        img: array (height, width, 3) of uint8.
        colors: red, green and blue, from 0 to 255, for each category.

    Raises:
        ImportError: neither OpenCV nor Pillow is installed.

    Example:
        >>> from compatgrad.nnabla.models.object_detection.draw_utils import DrawBoundingBoxes
        >>> picture = DrawBoundingBoxes(np.zeros((40, 40, 3), np.uint8), colors=[(255, 0, 0)])
        >>> picture.draw((5, 20, 30, 35), 0, "cat")
        >>> picture.get()[28, 5]
        array([255,   0,   0], dtype=uint8)

    Source: `nnabla.models.object_detection.draw_utils.DrawBoundingBoxes` of nnabla 1.39.0.
    """

    def __init__(self, img: np.ndarray, colors: Sequence[tuple[int, ...]]) -> None:
        self.colors = colors
        self._img, self._pil, self._cv2 = img.copy(), None, None
        try:
            import cv2

            self._cv2 = cv2
        except ImportError:
            try:
                from PIL import Image, ImageDraw
            except ImportError as e:
                raise ImportError("drawing boxes needs Pillow or OpenCV: pip install pillow") from e
            self._pil = Image.fromarray(img)
            self._draw = ImageDraw.Draw(self._pil)

    def draw(self, bbox: Sequence[int], det_ind: int, label: str) -> None:
        """Draws the box (left, top, right, bottom), in pixels, in the colour of category `det_ind`, with a label.
        Raises IndexError for a category without a colour.
        """
        left, top = bbox[:2]
        color = self.colors[det_ind]
        # the label stands above the box, or inside it where there is no room above
        at = (left, top - 15 if top > 30 else top + 15)
        if self._cv2 is None:
            self._draw.rectangle(tuple(bbox), outline=color)
            self._draw.text(at, label, fill=color)
        else:
            self._cv2.rectangle(self._img, (left, top), tuple(bbox[2:]), color, 2)
            self._cv2.putText(self._img, label, at, self._cv2.FONT_HERSHEY_SIMPLEX, 0.5, color, 2)

    def get(self) -> np.ndarray:
        """The image with the boxes drawn so far, an array (height, width, 3) of uint8."""
        return self._img if self._pil is None else np.array(self._pil)
