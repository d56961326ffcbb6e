"""The methods that measured text in Pillow."""

from __future__ import annotations

from typing import Any

from PIL import Image


def getsize(
    self: Any, text: Any, direction: Any = None, features: Any = None, language: Any = None, stroke_width: float = 0
) -> tuple[int, int]:
    """Width and height of the text. The height begins at the ascender line, not at the top of the letters."""
    left, _, right, bottom = self.getbbox(text, "L", direction, features, language, stroke_width)
    return right - left, bottom + stroke_width


def getoffset(self: Any, text: Any) -> tuple[int, int]:
    left, top, _, _ = self.getbbox(text)
    return left, top


def getsize_multiline(
    self: Any,
    text: Any,
    direction: Any = None,
    spacing: float = 4,
    features: Any = None,
    language: Any = None,
    stroke_width: float = 0,
) -> tuple[int, float]:
    lines = text.split("\n" if isinstance(text, str) else b"\n")
    step = getsize(self, "A", stroke_width=stroke_width)[1] + spacing
    width = max(getsize(self, line, direction, features, language, stroke_width)[0] for line in lines)
    return width, len(lines) * step - spacing


def getsize_bitmap(self: Any, text: Any, *_: Any, **__: Any) -> tuple[int, int]:
    left, top, right, bottom = self.getbbox(text)
    return right - left, bottom - top


def getsize_turned(self: Any, text: Any, *_: Any, **__: Any) -> tuple[int, int]:
    width, height = _measure(self.font, text)
    turned = self.orientation in (Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_270)
    return (height, width) if turned else (width, height)


def _measure(font: Any, text: Any, *options: Any) -> tuple[int, int]:
    if hasattr(font, "orientation"):
        return getsize_turned(font, text)
    # only FreeType's fonts have styles
    return getsize(font, text, *options) if hasattr(font, "font_variant") else getsize_bitmap(font, text)


def textsize(
    self: Any,
    text: Any,
    font: Any = None,
    spacing: float = 4,
    direction: Any = None,
    features: Any = None,
    language: Any = None,
    stroke_width: float = 0,
) -> tuple[int, float]:
    if ("\n" if isinstance(text, str) else b"\n") in text:
        return multiline_textsize(self, text, font, spacing, direction, features, language, stroke_width)
    return _measure(font or self.getfont(), text, direction, features, language, stroke_width)


def multiline_textsize(
    self: Any,
    text: Any,
    font: Any = None,
    spacing: float = 4,
    direction: Any = None,
    features: Any = None,
    language: Any = None,
    stroke_width: float = 0,
) -> tuple[int, float]:
    font = font or self.getfont()
    lines = text.split("\n" if isinstance(text, str) else b"\n")
    step = _measure(font, "A", None, None, None, stroke_width)[1] + spacing
    width = max(_measure(font, line, direction, features, language, stroke_width)[0] for line in lines)
    return width, len(lines) * step - spacing


def isImageType(t: Any) -> bool:
    return hasattr(t, "im")
