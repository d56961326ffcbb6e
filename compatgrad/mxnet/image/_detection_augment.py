"""Random changes of images with boxes around objects; `detection` describes their labels."""

from __future__ import annotations

import json
import random
import warnings
from math import sqrt
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..base import numeric_types
from ._augmenter import Augmenter
from .image import copyMakeBorder, fixed_crop

__all__ = [
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
]

Pair = tuple[Any, np.ndarray]


def _areas(boxes: np.ndarray) -> np.ndarray:
    """Areas of boxes, which are rows (left, top, right, bottom)."""
    return np.maximum(0, boxes[:, 2] - boxes[:, 0]) * np.maximum(0, boxes[:, 3] - boxes[:, 1])


class DetAugmenter:
    """Base class of random changes of images with boxes: a subclass is called with image and labels and gives both.

    Args:
        **kwargs: what `dumps` writes; arrays are written as lists.

    Raises:
        NotImplementedError: in a call, the subclass does not define it.

    Example:
        >>> class WithoutLast(mx.image.DetAugmenter):
        ...     def __call__(self, src, label): return src, label[:-1]
        >>> WithoutLast().dumps()
        '["withoutlast", {}]'

    Source: `mxnet.image.DetAugmenter` of MXNet 1.9.1.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {k: Augmenter._plain(v) for k, v in kwargs.items()}

    def dumps(self) -> Any:
        """The name and the arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: nd.NDArray, label: np.ndarray) -> Pair:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class DetBorrowAug(DetAugmenter):
    """Applies an augmenter of images and does not change the boxes.

    Args:
        augmenter: the Augmenter.

    Raises:
        TypeError: `augmenter` is no Augmenter.

    Example:
        >>> augment = mx.image.DetBorrowAug(mx.image.CastAug("uint8"))
        >>> augment(nd.ones((2, 2, 3)), np.array([[0, 0.1, 0.2, 0.5, 0.6]]))[0].dtype
        <class 'numpy.uint8'>

    Source: `mxnet.image.DetBorrowAug` of MXNet 1.9.1.
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"DetBorrowAug: expected an Augmenter, got {type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: nd.NDArray, label: np.ndarray) -> Pair:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, at random.

    Args:
        aug_list: a DetAugmenter or a list of them; with an empty one nothing changes.
        skip_prob: probability that nothing changes.

    Raises:
        ValueError: there is something else in `aug_list`.

    Example:
        >>> augment = mx.image.DetRandomSelectAug([mx.image.DetHorizontalFlipAug(1)])
        >>> augment(nd.ones((2, 2, 3)), np.array([[0, 0.0, 0.2, 0.25, 0.5]]))[1]
        array([[0.  , 0.75, 0.2 , 1.  , 0.5 ]])

    Source: `mxnet.image.DetRandomSelectAug` of MXNet 1.9.1.
    """

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for each in self.aug_list:
            if not isinstance(each, DetAugmenter):
                raise ValueError(f"DetRandomSelectAug: expected DetAugmenters, got {type(each).__name__}")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), [each.dumps() for each in self.aug_list]]

    def __call__(self, src: nd.NDArray, label: np.ndarray) -> Pair:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Flips an image and its boxes horizontally, with a probability.

    Args:
        p: the probability.

    Example:
        >>> mx.image.DetHorizontalFlipAug(1)(nd.ones((2, 2, 3)), np.array([[0, 0.0, 0.2, 0.25, 0.5]]))[1]
        array([[0.  , 0.75, 0.2 , 1.  , 0.5 ]])

    Source: `mxnet.image.DetHorizontalFlipAug` of MXNet 1.9.1.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: nd.NDArray, label: np.ndarray) -> Pair:
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label = label.copy()
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


def _range(who: str, name: str, value: Any) -> tuple[float, float]:
    if isinstance(value, (tuple, list)):
        return tuple(value)
    if not isinstance(value, numeric_types):
        raise AssertionError(f"{who}: {name} must be a number or a pair of them, not {type(value).__name__}")
    return (value, value)


class _DetRandomBox(DetAugmenter):
    """Base class of cropping and padding: tries boxes of random proportions and size until one is good."""

    _smallest_area = 0.0  # the largest area must be larger

    def __init__(self, aspect_ratio_range: Any, area_range: Any, max_attempts: int, **more: Any) -> None:
        who = type(self).__name__
        self.aspect_ratio_range = _range(who, "aspect_ratio_range", aspect_ratio_range)
        self.area_range = _range(who, "area_range", area_range)
        self.max_attempts = max_attempts
        ranges = {"aspect_ratio_range": self.aspect_ratio_range, "area_range": self.area_range}
        super().__init__(**ranges, max_attempts=max_attempts, **more)
        low, high = self.area_range
        bad = None
        if high <= self._smallest_area or low > high:
            bad = "area_range"
        elif not 0 < self.aspect_ratio_range[0] <= self.aspect_ratio_range[1]:
            bad = "aspect_ratio_range"
        if bad:
            warnings.warn(f"Skip {who} due to invalid {bad}: {ranges[bad]}", stacklevel=3)
        self.enabled = bad is None

    def _heights(self, ratio: float, height: int, width: int) -> tuple[int, int]:
        """The smallest and the largest height of a box whose width is its height times `ratio`."""
        low, high = (int(round(sqrt(area * height * width / ratio))) for area in self.area_range)
        return low, high


class DetRandomCropAug(_DetRandomBox):
    """A random part of an image in which objects are seen well enough.

    Args:
        min_object_covered: the share of every object inside the part, even partly, that the part must contain.
        aspect_ratio_range: (smallest, largest) width over height, or one number for both.
        area_range: (smallest, largest) share of the image's area, or one number for both.
        min_eject_coverage: an object of which the part contains a smaller share is left out.
        max_attempts: how many parts are tried; if none is good, the image stays as it is.

    Raises:
        AssertionError: a range is neither a number nor a pair. A warning says where a range is empty; nothing changes
            then.

    Example:
        >>> augment = mx.image.DetRandomCropAug(min_object_covered=0.9, area_range=(0.5, 1.0))
        >>> image, label = augment(nd.zeros((20, 20, 3)), np.array([[7, 0.4, 0.4, 0.6, 0.6]]))
        >>> image.size <= 1200, label[:, 0]
        (True, array([7.]))

    Source: `mxnet.image.DetRandomCropAug` of MXNet 1.9.1.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        more = {"min_object_covered": min_object_covered, "min_eject_coverage": min_eject_coverage}
        super().__init__(aspect_ratio_range, area_range, max_attempts, **more)
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage

    def __call__(self, src: nd.NDArray, label: np.ndarray) -> Pair:
        found = self._random_crop_proposal(label, src.shape[0], src.shape[1])
        if not found:
            return src, label
        *box, label = found
        return fixed_crop(src, *box, None), label

    def _is_good(self, label: np.ndarray, box: tuple[int, int, int, int], height: int, width: int) -> bool:
        x, y, w, h = box
        if w * h < 2:
            return False
        areas = _areas(label[:, 1:])
        seen = areas * width * height > 2
        boxes = label[seen, 1:5]
        corner = np.array([x / width, y / height, (x + w) / width, (y + h) / height])
        inside = np.concatenate([np.maximum(boxes[:, :2], corner[:2]), np.minimum(boxes[:, 2:], corner[2:])], axis=1)
        covered = _areas(inside) / areas[seen]
        covered = covered[covered > 0]
        return bool(covered.size) and covered.min() > self.min_object_covered

    def _update_labels(
        self, label: np.ndarray, box: tuple[int, int, int, int], height: int, width: int
    ) -> np.ndarray | None:
        x, y, w, h = box[0] / width, box[1] / height, box[2] / width, box[3] / height
        out = label.copy()
        out[:, 1:5] = np.clip((out[:, 1:5] - [x, y, x, y]) / [w, h, w, h], 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            covered = _areas(out[:, 1:]) * w * h / _areas(label[:, 1:])
        out = out[(out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2]) & (covered > self.min_eject_coverage)]
        return out if len(out) else None

    def _random_crop_proposal(self, label: np.ndarray, height: int, width: int) -> tuple[Any, ...]:
        if not self.enabled or height <= 0 or width <= 0:
            return ()
        low, high = (area * height * width for area in self.area_range)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            h, most = self._heights(ratio, height, width)
            if round(most * ratio) > width:
                most = int((width + 0.4999999) / ratio)
            most = min(most, height)
            h = min(h, most)
            if h < most:
                h = random.randint(h, most)
            w = int(round(h * ratio))
            if w * h < low:  # rounding made the part too small
                h += 1
                w = int(round(h * ratio))
            if w * h > high:
                h -= 1
                w = int(round(h * ratio))
            if not (low <= w * h <= high and 0 <= w <= width and 0 <= h <= height):
                continue
            y = random.randint(0, max(0, height - h))
            x = random.randint(0, max(0, width - w))
            box = x, y, w, h
            if self._is_good(label, box, height, width):
                updated = self._update_labels(label, box, height, width)
                if updated is not None:
                    return (*box, updated)
        return ()


class DetRandomPadAug(_DetRandomBox):
    """Puts an image into a larger one of random size and proportions.

    Args:
        aspect_ratio_range: (smallest, largest) width over height, or one number for both.
        area_range: (smallest, largest) area, in areas of the image, or one number for both.
        max_attempts: how many sizes are tried; if none is larger, the image stays as it is.
        pad_val: what the rest is filled with, a number or one for each channel.

    Raises:
        AssertionError: a range is neither a number nor a pair. A warning says where a range is empty; nothing changes
            then.

    Example:
        >>> augment = mx.image.DetRandomPadAug(aspect_ratio_range=1, area_range=4)
        >>> image, label = augment(nd.zeros((20, 20, 3)), np.array([[7, 0.0, 0.0, 1.0, 1.0]]))
        >>> image.shape, (label[0, 3:] - label[0, 1:3]).round(1)
        ((40, 40, 3), array([0.5, 0.5]))

    Source: `mxnet.image.DetRandomPadAug` of MXNet 1.9.1.
    """

    _smallest_area = 1.0

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:
        super().__init__(aspect_ratio_range, area_range, max_attempts, pad_val=pad_val)
        self.pad_val = pad_val

    def __call__(self, src: nd.NDArray, label: np.ndarray) -> Pair:
        height, width, channels = src.shape
        found = self._random_pad_proposal(label, height, width)
        if not found:
            return src, label
        x, y, w, h, label = found
        fill = self.pad_val if isinstance(self.pad_val, (list, tuple)) else (self.pad_val,) * channels
        return copyMakeBorder(src, y, h - y - height, x, w - x - width, values=fill), label

    def _random_pad_proposal(self, label: np.ndarray, height: int, width: int) -> tuple[Any, ...]:
        if not self.enabled or height <= 0 or width <= 0:
            return ()
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            h, most = self._heights(ratio, height, width)
            if round(h * ratio) < width:
                h = int((width + 0.499999) / ratio)
            h = min(max(h, height), most)
            if h < most:
                h = random.randint(h, most)
            w = int(round(h * ratio))
            if h - height < 2 or w - width < 2:
                continue
            y = random.randint(0, max(0, h - height))
            x = random.randint(0, max(0, w - width))
            out = label.copy()
            out[:, 1:5] = (out[:, 1:5] * [width, height, width, height] + [x, y, x, y]) / [w, h, w, h]
            return x, y, w, h, out
        return ()
