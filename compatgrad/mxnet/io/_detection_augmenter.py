"""Random changes of images with boxes, as `ImageDetRecordIter` makes them: colours, borders, parts, sizes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _image_colors as colors
from .._image_resize import resize
from ..base import MXNetError

#: left, top, width and height, as shares of an image's
Box = tuple[np.float32, np.float32, np.float32, np.float32]
# fields that have a value for each sampler of parts
_BY_SAMPLER = (
    "min_crop_scales max_crop_scales min_crop_aspect_ratios max_crop_aspect_ratios min_crop_overlaps "
    "max_crop_overlaps min_crop_sample_coverages max_crop_sample_coverages min_crop_object_coverages "
    "max_crop_object_coverages max_crop_trials"
).split()


class Boxes:
    """The objects of a label: (length of the header, width of an object, more header, then the objects). Objects
    without width or height are left out.

    Raises:
        ValueError: the numbers are no such label.
    """

    def __init__(self, label: np.ndarray) -> None:
        if label.size < 7:
            raise ValueError(f"a label of boxes has at least 7 numbers, got {label.size}")
        begin, width = int(label[0]), int(label[1])
        if not 2 <= begin <= label.size or width < 5 or (label.size - begin) % width:
            raise ValueError(
                f"a label of boxes has a header of 2 numbers or more and objects of 5 or more, got a header of {begin} "
                f"and objects of {width} in {label.size} numbers"
            )
        self.header = label[:begin]
        objects = label[begin:].reshape(-1, width).copy()
        self.objects = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]

    def label(self) -> np.ndarray:
        return np.concatenate([self.header, self.objects.ravel()])

    def mirror(self) -> None:
        self.objects[:, [1, 3]] = 1 - self.objects[:, [3, 1]]

    def project(self, box: Box, which: np.ndarray | None = None) -> None:
        """Makes the places of the objects shares of the box. which: those that are kept."""
        x = self.objects if which is None else self.objects[which]
        left, top, width, height = box
        x[:, 1] = np.maximum(0, (x[:, 1] - left) / width)
        x[:, 2] = np.maximum(0, (x[:, 2] - top) / height)
        x[:, 3] = np.minimum(1, (x[:, 3] - left) / width)
        x[:, 4] = np.minimum(1, (x[:, 4] - top) / height)
        self.objects = x

    def areas(self, box: Box) -> tuple[np.ndarray, np.ndarray]:
        """The areas of the objects, and of what they have in common with the box."""
        left, top, right, bottom = self.objects[:, 1:5].T
        wide = np.minimum(right, box[0] + box[2]) - np.maximum(left, box[0])
        high = np.minimum(bottom, box[1] + box[3]) - np.maximum(top, box[1])
        return (right - left) * (bottom - top), np.where((wide > 0) & (high > 0), wide * high, np.float32(0))

    def centers_in(self, box: Box) -> np.ndarray:
        x = (self.objects[:, 1] + self.objects[:, 3]) * np.float32(0.5)
        y = (self.objects[:, 2] + self.objects[:, 4]) * np.float32(0.5)
        return (x >= box[0]) & (x < box[0] + box[2]) & (y >= box[1]) & (y < box[1] + box[3])


@dataclass
class DetectionAugmenter:
    """The changes that ImageDetRecordIter makes; its documentation says what the fields are."""

    shape: tuple[int, int, int]
    owner: str
    resize: int = -1
    rand_crop_prob: float = 0.0
    min_crop_scales: Any = (0.0,)
    max_crop_scales: Any = (1.0,)
    min_crop_aspect_ratios: Any = (1.0,)
    max_crop_aspect_ratios: Any = (1.0,)
    min_crop_overlaps: Any = (0.0,)
    max_crop_overlaps: Any = (1.0,)
    min_crop_sample_coverages: Any = (0.0,)
    max_crop_sample_coverages: Any = (1.0,)
    min_crop_object_coverages: Any = (0.0,)
    max_crop_object_coverages: Any = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: str = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: Any = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    inter_method: int = 1
    resize_mode: str = "force"
    samplers: list[dict[str, float]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for name, allowed in (
            ("inter_method", (0, 1, 2, 3, 4, 9, 10)),
            ("crop_emit_mode", ("center", "overlap")),
            ("resize_mode", ("force", "shrink", "fit")),
        ):
            if getattr(self, name) not in allowed:
                raise self._error(f"{name}: expected {', '.join(map(repr, allowed))}, got {getattr(self, name)!r}")
        if self.emit_overlap_thresh < 0:
            raise self._error(f"emit_overlap_thresh: expected 0 or more, got {self.emit_overlap_thresh}")
        self.samplers = [{} for _ in range(self.num_crop_sampler)]
        for name in _BY_SAMPLER if self.samplers else ():
            for sampler, value in zip(self.samplers, self._values(name), strict=True):
                sampler[name] = value
        for sampler in self.samplers:
            self._check(sampler)
        self._colours = (
            (self.max_random_hue, self.random_hue_prob),
            (self.max_random_saturation, self.random_saturation_prob),
            (self.max_random_illumination, self.random_illumination_prob),
            (self.max_random_contrast, self.random_contrast_prob),
        )
        if self.shape[0] != 3 and any(most and share > 0 for most, share in self._colours[:3]):
            raise self._error(f"random colours need images of 3 channels, and data_shape is {self.shape}")

    def _error(self, text: str) -> MXNetError:
        return MXNetError(f"{self.owner}: {text}")

    def _values(self, name: str) -> Sequence[float]:
        given = getattr(self, name)
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(values) == 1:
            return values * self.num_crop_sampler
        if len(values) != self.num_crop_sampler:
            raise self._error(
                f"{name}: expected one value, or {self.num_crop_sampler} (num_crop_sampler), got {given!r}"
            )
        return values

    def _check(self, sampler: dict[str, float]) -> None:
        if not 0 <= sampler["min_crop_scales"] < sampler["max_crop_scales"] <= 1:
            raise self._error(
                "expected 0 <= min_crop_scales < max_crop_scales <= 1, got "
                f"{sampler['min_crop_scales']} and {sampler['max_crop_scales']}"
            )
        for what in ("aspect_ratios", "overlaps", "sample_coverages", "object_coverages"):
            low, high = sampler[f"min_crop_{what}"], sampler[f"max_crop_{what}"]
            if low > high and what != "object_coverages" or what == "aspect_ratios" and low < 0:
                raise self._error(f"expected min_crop_{what} <= max_crop_{what}, got {low} and {high}")

    def __call__(self, x: np.ndarray, label: np.ndarray, rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
        """An image of bytes, (height, width, channels), and its label, after changes that `rng` draws."""
        boxes = Boxes(label)
        if self.resize != -1:
            h, w = x.shape[:2]
            short = self.resize
            x = self._resized(x, *((h * short // w, short) if h > w else (short, w * short // h)), rng)
        if any(share > 0 for _, share in self._colours):
            x = self._recoloured(x, rng)
        if self.rand_mirror_prob > 0 and rng.random() < self.rand_mirror_prob:
            boxes.mirror()
            x = x[:, ::-1]
        if self.rand_pad_prob > 0 and self.max_pad_scale > 1 and rng.random() < self.rand_pad_prob:
            x = self._padded(x, boxes, rng)
        if self.rand_crop_prob > 0 and self.samplers and rng.random() < self.rand_crop_prob:
            x = self._part(x, boxes, rng)
        return self._fitted(x, rng), boxes.label()

    def _resized(self, x: np.ndarray, height: int, width: int, rng: random.Random) -> np.ndarray:
        h, w = x.shape[:2]
        if not min(h, w, height, width):
            raise self._error(f"an image of {h} x {w} pixels cannot be resized to {height} x {width}")
        method = self.inter_method
        if method == 9:
            method = 2 if height > h and width > w else 3 if height < h and width < w else 1
        elif method == 10:
            method = rng.randrange(5)
        return x if (h, w) == (height, width) else resize(np.ascontiguousarray(x), height, width, method)

    def _recoloured(self, x: np.ndarray, rng: random.Random) -> np.ndarray:
        amounts = [rng.uniform(-1, 1) * most for most, _ in self._colours]
        hue, saturation, lightness, contrast = (
            amount if rng.random() < share else 0 for amount, (_, share) in zip(amounts, self._colours, strict=True)
        )
        shifts = int(hue), int(lightness), int(saturation)
        if any(shifts):
            x = colors.with_hls(x, *shifts)
        return colors.scaled(x, contrast + 1) if abs(contrast) > 1e-3 else x

    def _padded(self, x: np.ndarray, boxes: Boxes, rng: random.Random) -> np.ndarray:
        """In a larger image, at a random place; nothing is done where this would be less than 1.05 times as large."""
        f = np.float32
        scale = f(rng.uniform(1, self.max_pad_scale))
        if scale < f(1.05):
            return x
        left, top = f(rng.uniform(0, scale - 1)), f(rng.uniform(0, scale - 1))
        boxes.project((-left, -top, scale, scale))
        h, w = x.shape[:2]
        rows, columns = ((int(first * n), int((scale - first - 1) * n)) for first, n in ((top, h), (left, w)))
        return np.pad(x, (rows, columns, (0, 0)), constant_values=self.fill_value)

    def _part(self, x: np.ndarray, boxes: Boxes, rng: random.Random) -> np.ndarray:
        """A part that one of the samplers, in a random order, accepts; the image itself if none does."""
        h, w = x.shape[:2]
        for sampler in rng.sample(self.samplers, len(self.samplers)):
            for _ in range(int(sampler["max_crop_trials"])):
                box = _draw(sampler, np.float32(w) / np.float32(h), rng)
                if self._takes(sampler, box, boxes):
                    left, top, width, height = (int(share * n) for share, n in zip(box, (w, h, w, h), strict=True))
                    return x[top : top + height, left : left + width]
        return x

    def _takes(self, sampler: dict[str, float], box: Box, boxes: Boxes) -> bool:
        """Whether a part meets the sampler's conditions; the objects are then those of the part."""
        if not len(boxes.objects):
            return True
        areas, common = boxes.areas(box)
        area = box[2] * box[3]
        good, asked = np.ones(len(areas), bool), False
        for what, share in (
            ("overlaps", common / (area + areas - common)),
            ("sample_coverages", common / area),
            ("object_coverages", common / areas),
        ):
            low, high = np.float32(sampler[f"min_crop_{what}"]), np.float32(sampler[f"max_crop_{what}"])
            if low > 0 or high < 1:
                asked = True
                good &= (share >= low) & (share <= high)
        if asked and not good.any():
            return False
        if self.crop_emit_mode == "center":
            kept = boxes.centers_in(box)
        else:
            kept = common / areas > np.float32(self.emit_overlap_thresh)
        if kept.any():
            boxes.project(box, kept)
        return bool(kept.any())

    def _fitted(self, x: np.ndarray, rng: random.Random) -> np.ndarray:
        """Brought to data_shape; with "fit" and "shrink" at most as large, in its own ratio."""
        _, height, width = self.shape
        h, w = x.shape[:2]
        if self.resize_mode == "force":
            return self._resized(x, height, width, rng)
        if self.resize_mode == "shrink" and h <= height and w <= width:
            return x
        ratio = min(np.float32(height) / np.float32(h), np.float32(width) / np.float32(w))
        return self._resized(x, int(ratio * np.float32(h)), int(ratio * np.float32(w)), rng)


def _draw(sampler: dict[str, float], image_ratio: np.float32, rng: random.Random) -> Box:
    """A random part: its scale, its ratio of width to height, its place."""
    f = np.float32
    scale = f(rng.uniform(sampler["min_crop_scales"], sampler["max_crop_scales"])) + f(1e-12)
    least = max(f(sampler["min_crop_aspect_ratios"]) / image_ratio, scale * scale)
    most = min(f(sampler["max_crop_aspect_ratios"]) / image_ratio, f(1 / (float(scale) * float(scale))))
    ratio = np.sqrt(f(rng.uniform(least, most)))
    width, height = min(f(1), scale * ratio), min(f(1), scale / ratio)
    return f(rng.uniform(0, 1 - width)), f(rng.uniform(0, 1 - height)), width, height


FIELDS = frozenset(DetectionAugmenter.__dataclass_fields__) - {"shape", "owner", "samplers"}
