"""Random changes of the images of record files: sizes, angles, parts and colours."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

from .. import _image_colors as colors
from .._image_resize import resize
from .._image_warp import warp
from ..base import MXNetError

_NO_LIMIT = 1e10


@dataclass
class Augmenter:
    """The changes that ImageRecordIter makes; its documentation says what the fields are."""

    shape: tuple[int, int, int]
    owner: str
    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = _NO_LIMIT
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    rotate: int = -1
    fill_value: int = 255
    inter_method: int = 1
    pad: int = 0

    def __post_init__(self) -> None:
        if self.inter_method not in (0, 1, 2, 3, 4, 9, 10):
            raise self._error(f"inter_method: expected 0 to 4, 9 or 10, got {self.inter_method}")
        if self.min_aspect_ratio is None:
            self.ratios = 1 - self.max_aspect_ratio, 1 + self.max_aspect_ratio
        else:
            self.ratios = self.min_aspect_ratio, self.max_aspect_ratio
        sizes = self.max_random_scale != 1 or self.min_random_scale != 1
        self.warps = (
            self.max_rotate_angle > 0
            or self.max_shear_ratio > 0
            or self.rotate > 0
            or sizes
            or (not self.random_resized_crop and self.ratios != (1, 1))
            or self.max_img_size != _NO_LIMIT
            or self.min_img_size != 0
        )
        if self.warps and not self.inter_method:
            raise self._error("inter_method: 0 is for changes of size only, not for angles, scales and ratios")
        self.sized_crop = self.max_crop_size != -1 or self.min_crop_size != -1
        if self.random_resized_crop and (sizes or self.sized_crop or self.rand_crop):
            raise self._error(
                "random_resized_crop excludes min_random_scale, max_random_scale, min_crop_size, max_crop_size and "
                "rand_crop"
            )
        areas = self.min_random_area, self.max_random_area
        self.draws_area = self.random_resized_crop and (areas != (1, 1) or self.ratios != (1, 1))
        if self.draws_area and not (0 < self.ratios[0] <= self.ratios[1] and areas[0] <= areas[1]):
            raise self._error(
                "random_resized_crop: expected positive aspect ratios, and no minimum above its maximum, got ratios "
                f"{self.ratios} and areas {areas}"
            )
        self.recolours = bool(self.brightness > 0 or self.contrast > 0 or self.saturation > 0)
        self.shifts = bool(self.random_h or self.random_s or self.random_l)
        if self.shape[0] != 3 and (self.recolours or self.shifts or self.pca_noise > 0):
            raise self._error(f"random colours need images of 3 channels, and data_shape is {self.shape}")

    def _error(self, text: str) -> MXNetError:
        return MXNetError(f"{self.owner}: {text}")

    def __call__(self, x: np.ndarray, rng: random.Random) -> np.ndarray:
        """An image of bytes, (height, width, channels), after changes that `rng` draws."""
        _, height, width = self.shape
        if self.resize > 0:
            h, w = x.shape[:2]
            short = self.resize
            x = self._resized(x, *((h * short // w, short) if h > w else (short, w * short // h)), rng)
        if self.warps:
            x = self._warped(x, rng)
        if self.pad > 0:
            border = ((self.pad, self.pad), (self.pad, self.pad), (0, 0))
            x = np.pad(x, border, constant_values=self.fill_value)
        part = self._random_area(x, rng) if self.draws_area else None
        if part is not None:
            x = part
        elif self.sized_crop:
            x = self._sized_crop(x, rng)
        else:
            x = self._crop(x, height, width, rng)
        return self._recoloured(x, rng) if self.recolours or self.shifts or self.pca_noise > 0 else x

    def _resized(
        self, x: np.ndarray, height: int, width: int, rng: random.Random, chosen_by: tuple[int, int] | None = None
    ) -> np.ndarray:
        """chosen_by: the size by which the interpolation is chosen, if it is another one."""
        return resize(np.ascontiguousarray(x), height, width, self._method(x, *(chosen_by or (height, width)), rng))

    def _method(self, x: np.ndarray, height: float, width: float, rng: random.Random) -> int:
        """The interpolation; 9 chooses it by the sizes, 10 at random."""
        h, w = x.shape[:2]
        if self.inter_method == 9:
            return 2 if height > h and width > w else 3 if height < h and width < w else 1
        return rng.randrange(5) if self.inter_method == 10 else self.inter_method

    def _warped(self, x: np.ndarray, rng: random.Random) -> np.ndarray:
        f = np.float32
        h, w = x.shape[:2]
        shear = f(rng.uniform(-1, 1)) * f(self.max_shear_ratio)
        angle = self.rotate if self.rotate > 0 else rng.randint(-self.max_rotate_angle, self.max_rotate_angle)
        a, b = f(math.cos(angle / 180 * math.pi)), f(math.sin(angle / 180 * math.pi))
        low, high = f(self.min_random_scale), f(self.max_random_scale)
        scale = f(rng.random()) * (high - low) + low
        low, high = map(f, self.ratios)
        ratio = f(rng.random()) * (high - low) + low
        hs = 2 * scale / (1 + ratio)
        ws = ratio * hs
        width = max(f(self.min_img_size), min(f(self.max_img_size), scale * f(w)))
        height = max(f(self.min_img_size), min(f(self.max_img_size), scale * f(h)))
        m = np.zeros((2, 3), f)
        m[:, 0] = hs * a - shear * b * ws, -b * ws
        m[:, 1] = hs * b + shear * a * ws, a * ws
        m[:, 2] = (f([width, height]) - (m[:, 0] * f(w) + m[:, 1] * f(h))) / 2
        method = self._method(x, height, width, rng)
        return warp(x, m, int(height), int(width), method, self.fill_value)

    def _random_area(self, x: np.ndarray, rng: random.Random) -> np.ndarray | None:
        """A part of a random area and ratio; None if ten of them do not fit."""
        h, w = x.shape[:2]
        for _ in range(10):
            area = h * w * rng.uniform(self.min_random_area, self.max_random_area)
            ratio = rng.uniform(*self.ratios)
            sides = [math.floor(math.sqrt(area * ratio) + 0.5), math.floor(math.sqrt(area / ratio) + 0.5)]
            if rng.random() > 0.5:
                sides.reverse()
            if sides[0] <= w and sides[1] <= h:
                left, top = rng.randint(0, w - sides[0]), rng.randint(0, h - sides[1])
                return self._resized(x[top : top + sides[1], left : left + sides[0]], *self.shape[1:], rng)
        return None

    def _sized_crop(self, x: np.ndarray, rng: random.Random) -> np.ndarray:
        h, w = x.shape[:2]
        low, high = self.min_crop_size, self.max_crop_size
        if not 0 < low <= high <= min(h, w):
            raise self._error(
                f"expected 0 < min_crop_size <= max_crop_size and a larger image, got {low}, {high} and {h} x {w}"
            )
        return self._resized(self._crop(x, *[rng.randint(low, high)] * 2, rng), *self.shape[1:], rng)

    def _crop(self, x: np.ndarray, height: int, width: int, rng: random.Random) -> np.ndarray:
        """A random part or the middle; of an image that is too small, after it has been enlarged."""
        h, w = x.shape[:2]
        if h < height:
            h, w = height, int(np.float32(height) / np.float32(h) * np.float32(w))
            x = self._resized(x, h, w, rng, self.shape[1:])
        if w < width:
            h, w = int(np.float32(width) / np.float32(w) * np.float32(h)), width
            x = self._resized(x, h, w, rng, self.shape[1:])
        left, top = w - width, h - height
        left, top = (rng.randint(0, left), rng.randint(0, top)) if self.rand_crop else (left // 2, top // 2)
        return x[top : top + height, left : left + width]

    def _recoloured(self, x: np.ndarray, rng: random.Random) -> np.ndarray:
        if self.recolours:
            names = "brightness", "contrast", "saturation"
            changes = [
                (change, 1 + rng.uniform(-1, 1) * max(getattr(self, name), 0.0))
                for name, change in zip(names, _CHANGES, strict=True)
            ]
            rng.shuffle(changes)
            for change, factor in changes:
                x = change(x, factor)
        if self.shifts:
            # the sum of two uniform numbers, of which one counts four times: middle values are more frequent
            shares = [(rng.random() + 4 * rng.random()) / 5 * 2 - 1 for _ in range(3)]
            most = self.random_h, self.random_s, self.random_l
            hue, saturation, lightness = (int(share * m) for share, m in zip(shares, most, strict=True))
            x = colors.with_hls(x, hue, lightness, saturation)
        if self.pca_noise > 0:
            amounts = rng.gauss(0, self.pca_noise), rng.gauss(0, self.pca_noise), rng.gauss(0, self.pca_noise)
            x = colors.with_noise_of_main_colours(x, amounts)
        return x


_CHANGES = colors.scaled, colors.with_contrast, colors.with_saturation
FIELDS = frozenset(Augmenter.__dataclass_fields__) - {"shape", "owner"}
