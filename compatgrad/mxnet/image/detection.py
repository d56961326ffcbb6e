"""Random changes and an iterator of images with boxes around objects.

Labels are NumPy arrays with a row (class, left, top, right, bottom, …) for each object, in parts of the image's width
and height.
"""

from __future__ import annotations

import json
import logging
import random
import warnings
from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..base import numeric_types
from .augment import (
    Augmenter,
    CastAug,
    ForceResizeAug,
    ResizeAug,
    _colour_augmenters,
)
from .image import copyMakeBorder, fixed_crop
from .iterator import ImageIter

__all__ = [
    "DetAugmenter",
    "DetBorrowAug",
    "DetRandomSelectAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "CreateMultiRandCropAugmenter",
    "CreateDetAugmenter",
    "ImageDetIter",
]

Pair = tuple[Any, np.ndarray]


def _areas(boxes: np.ndarray) -> np.ndarray:
    """Of rows (left, top, right, bottom)."""
    return np.maximum(0, boxes[:, 2] - boxes[:, 0]) * np.maximum(0, boxes[:, 3] - boxes[:, 1])


class DetAugmenter:
    """Base class: called with an image and its labels, gives both. Keyword arguments are what `dumps` writes."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {k: Augmenter._plain(v) for k, v in kwargs.items()}

    def dumps(self) -> Any:
        """The name and the arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: nd.NDArray, label: np.ndarray) -> Pair:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class DetBorrowAug(DetAugmenter):
    """An augmenter of images that leaves boxes alone."""

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
    """One of several augmenters at random; with probability `skip_prob` none."""

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
    """With probability `p`, left and right change places."""

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
    """Tries boxes of random proportions and size until one is good; what both cropping and padding do."""

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
    """A random part of the image in which objects are seen well enough.

    Args:
        min_object_covered: of every object that is seen at all, this part must be seen.
        aspect_ratio_range: (smallest, largest) width over height.
        area_range: (smallest, largest) share of the image's area.
        min_eject_coverage: an object of which less is seen is left out.
        max_attempts: how many parts are tried; if none is good, the image stays as it is.
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
            if w * h < low:  # rounding went to the wrong side
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
    """Puts the image into a larger one of random size and proportions, filled with `pad_val`.

    Args:
        aspect_ratio_range: (smallest, largest) width over height.
        area_range: (smallest, largest) area, in areas of the image.
        max_attempts: how many sizes are tried; if none is larger, the image stays as it is.
        pad_val: a number, or one for each channel.
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


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """One of several DetRandomCropAug at random, where arguments are lists of as many values, or one for all."""
    given = [min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts]
    lists = [value if isinstance(value, list) else [value] for value in given]
    count = max(map(len, lists))
    for values in lists:
        if len(values) not in (1, count):
            raise AssertionError(f"CreateMultiRandCropAugmenter: expected lists of {count} values, got {values}")
    rows = zip(*(values * count if len(values) == 1 else values for values in lists), strict=True)
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob=skip_prob)


def CreateDetAugmenter(
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """The usual augmenters for images of shape `data_shape` (channels, height, width) with boxes, as a list.

    Args:
        resize: first resizes the shorter side to it.
        rand_crop, rand_pad: probabilities of DetRandomCropAug and DetRandomPadAug, which get the last arguments.
        mean, std: arrays that are subtracted and divided by; True is that of ImageNet.
        The others: how strong each random change is, 0 for none.
    """
    found: list[DetAugmenter] = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        limits = min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        found.append(CreateMultiRandCropAugmenter(*limits, skip_prob=1 - rand_crop))
    if rand_mirror > 0:
        found.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        found.append(DetRandomSelectAug([pad], 1 - rand_pad))
    plain: list[Augmenter] = [ForceResizeAug((data_shape[2], data_shape[1]), inter_method), CastAug()]
    plain += _colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return found + [DetBorrowAug(each) for each in plain]


class ImageDetIter(ImageIter):
    """Batches of augmented images, and their labels: (batch size, objects, numbers of an object), padded with -1.

    A label in the files is a list: its own length before the objects, numbers of an object, whatever else belongs to
    the head, then the objects. Arguments are those of ImageIter and, without `aug_list`, of CreateDetAugmenter.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[DetAugmenter] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size, data_shape, path_imgrec=path_imgrec, path_imglist=path_imglist, path_root=path_root,
            path_imgidx=path_imgidx, shuffle=shuffle, part_index=part_index, num_parts=num_parts, aug_list=[],
            imglist=imglist, data_name=data_name, label_name=label_name, last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """The most objects in an image, and the numbers of an object."""
        most = width = 0
        self.reset()
        while True:
            try:
                rows = self._parse_label(self.next_sample()[0])
            except StopIteration:
                break
            most, width = max(most, len(rows)), rows.shape[1]
        self.reset()
        return most, width

    def _parse_label(self, label: Any) -> np.ndarray:
        """The objects of a label, a row for each; RuntimeError where it is none."""
        raw = np.asarray(label.asnumpy() if isinstance(label, nd.NDArray) else label).ravel()
        if raw.size < 7:
            raise RuntimeError(f"ImageDetIter: a label needs at least 7 numbers, got {raw.size}")
        head, width = int(raw[0]), int(raw[1])
        if width < 5 or (raw.size - head) % width:
            raise RuntimeError(f"ImageDetIter: {raw.size - head} numbers after the head are no objects of {width} each")
        rows = raw[head:].reshape(-1, width)
        rows = rows[(rows[:, 3] > rows[:, 1]) & (rows[:, 4] > rows[:, 2])]
        if not len(rows):
            raise RuntimeError("ImageDetIter: a sample has no object with an area")
        return rows

    def _check_valid_label(self, label: np.ndarray) -> None:
        if label.ndim != 2 or label.shape[1] < 5:
            raise RuntimeError(f"ImageDetIter: expected a label of shape (objects, 5 or more), got {label.shape}")
        if not ((label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])).any():
            raise RuntimeError("ImageDetIter: no object is left with a class and an area")

    def _sample(self) -> tuple[Any, Any]:
        while True:
            label, data = self.next_sample()
            image = self.imdecode(data)
            try:
                self.check_valid_image(image)
                image, rows = self.augmentation_transform(image, self._parse_label(label))
                self._check_valid_label(rows)
            except RuntimeError as e:
                logging.debug("Invalid image, skipping: %s", e)
                continue
            return rows, self.postprocess_data(image)

    def _joined(self, labels: list[np.ndarray]) -> np.ndarray:
        batch = np.full(self.provide_label[0][1], -1, np.float32)
        for row, label in zip(batch, labels, strict=True):
            row[: len(label)] = label
        return batch

    def augmentation_transform(self, data: nd.NDArray, label: np.ndarray) -> Pair:
        """Image and labels after all augmenters."""
        for augment in self.auglist:
            data, label = augment(data, label)
        return data, label

    def reshape(self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None) -> None:
        """Changes the shapes of images and labels; ValueError if labels would not fit."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = tuple(label_shape)

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """ValueError unless it is (at least as many objects, as many numbers of an object)."""
        if len(label_shape) != 2:
            raise ValueError(f"ImageDetIter: label_shape must be (objects, numbers of an object), got {label_shape}")
        if label_shape[0] < self.label_shape[0]:
            raise ValueError(f"ImageDetIter: images have {self.label_shape[0]} objects, no room in {label_shape}")
        if label_shape[1] != self.label_shape[1]:
            raise ValueError(f"ImageDetIter: objects have {self.label_shape[1]} numbers, not {label_shape[1]}")

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Gives this iterator and another, which is returned, room for equally many objects."""
        if not isinstance(it, ImageDetIter):
            raise AssertionError(f"sync_label_shape: expected an ImageDetIter, got {type(it).__name__}")
        if self.label_shape[1] != it.label_shape[1]:
            raise AssertionError(f"sync_label_shape: shapes {self.label_shape} and {it.label_shape} do not go together")
        shape = max(self.label_shape, it.label_shape)
        if verbose and self.label_shape != it.label_shape:
            logging.info("Resized label_shape to (%d, %d).", *shape)
        self.reshape(None, shape)
        it.reshape(None, shape)
        return it
