"""Boxes drawn on images, by OpenCV where it is installed and else by Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["DrawBoundingBoxes"]


class DrawBoundingBoxes:
    """Draws on a copy of `img`, an array (height, width, 3) of bytes; `colors` by category.

    ImportError if neither OpenCV nor Pillow is installed.
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
        """Draws the box (left, top, right, bottom) in the colour of category `det_ind`, with a label."""
        left, top = bbox[:2]
        color = self.colors[det_ind]
        at = (left, top - 15 if top > 30 else top + 15)  # above the box, unless that is above the image
        if self._cv2 is None:
            self._draw.rectangle(tuple(bbox), outline=color)
            self._draw.text(at, label, fill=color)
        else:
            self._cv2.rectangle(self._img, (left, top), tuple(bbox[2:]), color, 2)
            self._cv2.putText(self._img, label, at, self._cv2.FONT_HERSHEY_SIMPLEX, 0.5, color, 2)

    def get(self) -> Any:
        """The image as an array."""
        return self._img if self._pil is None else np.array(self._pil)
