"""ImageDetIter, an iterator over images with boxes around objects, and functions that make augmenters for it.

Labels are NumPy arrays with a row (class, left, top, right, bottom, …) for each object, in parts of the image's width
and height.
"""

from __future__ import annotations

import json  # noqa: F401  programs find it here, as in MXNet
import logging
import random  # noqa: F401  programs find it here, as in MXNet
import warnings  # noqa: F401  programs find it here, as in MXNet
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..base import numeric_types  # noqa: F401  programs find it here, as in MXNet
from ._colour_augment import colour_augmenters
from ._detection_augment import (
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
    Pair,
)
from .augment import Augmenter, CastAug, ForceResizeAug, ResizeAug
from .image import copyMakeBorder, fixed_crop  # noqa: F401  programs find them here, as in MXNet
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


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """An augmenter that applies one of several DetRandomCropAug, chosen at random.

    Args:
        min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts: arguments of
            DetRandomCropAug, each one value for all or a list with one for each.
        skip_prob: probability that nothing changes.

    Returns:
        The DetRandomSelectAug.

    Raises:
        AssertionError: lists are of different lengths, or a range is neither a number nor a pair.

    Example:
        >>> len(mx.image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9]).aug_list)
        3

    Source: `mxnet.image.CreateMultiRandCropAugmenter` of MXNet 1.9.1.
    """
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
    """The usual augmenters for images with boxes.

    Args:
        data_shape: (channels, height, width) of the result; the augmenters have the channels last.
        resize: first resizes the shorter side to it; 0 for not.
        rand_crop, rand_pad: probabilities of DetRandomCropAug and of DetRandomPadAug.
        rand_gray: probability of grey.
        rand_mirror: left and right change places, with probability 0.5.
        mean, std: arrays of one or three numbers that are subtracted and divided by; True is that of ImageNet, None
            none.
        brightness, contrast, saturation, hue: the largest change of each, 0 for none.
        pca_noise: standard deviation of the multiples of principal components that are added, 0 for none.
        inter_method: the interpolation; see `ResizeAug`.
        min_object_covered, min_eject_coverage: of cropping, as in `CreateMultiRandCropAugmenter`.
        aspect_ratio_range, max_attempts: of cropping and padding.
        area_range: (smallest, largest) area, in areas of the image; padding begins at 1.
        pad_val: what padding fills with, a number or one for each channel.

    Returns:
        A list of DetAugmenter.

    Raises:
        AssertionError: another `mean` or `std`, or a range is neither a number nor a pair.

    Example:
        >>> [type(a).__name__ for a in mx.image.CreateDetAugmenter((3, 2, 2), rand_crop=0.5, rand_mirror=True)]
        ['DetRandomSelectAug', 'DetHorizontalFlipAug', 'DetBorrowAug', 'DetBorrowAug']

    Source: `mxnet.image.CreateDetAugmenter` of MXNet 1.9.1.
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
    plain += colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return found + [DetBorrowAug(each) for each in plain]


class ImageDetIter(ImageIter):
    """Batches of augmented images, and their labels: (batch size, objects, numbers of an object), padded with -1.

    A label in the files is a list: the length of its header, the numbers per object, the rest of the header, and the
    objects.

    Args:
        batch_size: images in a batch.
        data_shape: (3, height, width).
        path_imgrec, path_imgidx: a record file and its index, which shuffling and parts need.
        path_imglist: a file of lines index, label, path, separated by tabs.
        path_root: folder that those paths start from.
        shuffle: the order is new in each epoch.
        part_index, num_parts: which of how many parts is read.
        aug_list: the augmenters; None for those of `CreateDetAugmenter`.
        imglist: a list of [label, path], instead of `path_imglist`.
        data_name, label_name: names of images and labels.
        last_batch_handle: "pad", "discard" or "roll_over", as of NDArrayIter.
        **kwargs: arguments of `CreateDetAugmenter`.

    Raises:
        AssertionError: there is neither a record file nor a list, or a part or shuffling without an index.
        ValueError: `data_shape` has another value.
        RuntimeError: a label is malformed.

    Example:
        >>> image = np.zeros((4, 4, 3), np.uint8)
        >>> file = mx.recordio.MXIndexedRecordIO("boxes.idx", "boxes.rec", "w")
        >>> file.write_idx(0, mx.recordio.pack_img((0, [2, 5, 7, 0.25, 0.25, 0.75, 0.75], 0, 0), image))
        >>> file.close()
        >>> batch = next(mx.image.ImageDetIter(1, (3, 2, 2), path_imgrec="boxes.rec", path_imgidx="boxes.idx"))
        >>> batch.data[0].shape, batch.label[0].asnumpy()
        ((1, 3, 2, 2), array([[[7.  , 0.25, 0.25, 0.75, 0.75]]], dtype=float32))

    Source: `mxnet.image.ImageDetIter` of MXNet 1.9.1.
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
        """The largest number of objects in an image, and the number of values for each object."""
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
        """The objects of a label, a row for each; RuntimeError if the label is malformed."""
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
        """ValueError unless the shape has room for the objects of each image, and as many values for each object."""
        if len(label_shape) != 2:
            raise ValueError(f"ImageDetIter: label_shape must be (objects, numbers of an object), got {label_shape}")
        if label_shape[0] < self.label_shape[0]:
            raise ValueError(f"ImageDetIter: images have {self.label_shape[0]} objects, no room in {label_shape}")
        if label_shape[1] != self.label_shape[1]:
            raise ValueError(f"ImageDetIter: objects have {self.label_shape[1]} numbers, not {label_shape[1]}")

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Gives this iterator and `it`, which is returned, labels of one shape, the larger one."""
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
