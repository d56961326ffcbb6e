"""ImageDetRecordIter: batches of images with boxes from record files."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from compatgrad.core.files import naming

from .. import recordio
from .._image_codec import decode
from ..base import MXNetError
from ._detection_augmenter import FIELDS, DetectionAugmenter
from ._image_records import ImageRecordIter

__all__ = ["ImageDetRecordIter"]


class ImageDetRecordIter(ImageRecordIter):
    """Batches of the images of a record file, brought to `data_shape`, and of their boxes.

    A label is (channels, height, width, length of what follows), then the record's own: length of its header, width
    of an object, more header, and for each object (class, left, top, right, bottom, ...) as parts of the image; and
    `label_pad_value` up to `label_pad_width` + 4 numbers. Objects without width or height are left out.

    Random changes come in this order: colours, mirror, border, part, size. The arguments of parts (`min_crop_...`,
    `max_crop_...`) are one number, or a tuple with one for each sampler.

    Args:
        path_imgrec: the record file.
        data_shape: (channels, height, width), with 1 or 3 channels.
        batch_size: images in a batch.
        path_imgidx: the index of the file, without which it is read through once more.
        label_width: how long the labels of all records are; -1: they differ.
        label_pad_width: what labels are filled up to; 0 for the longest one.
        label_pad_value: the number that fills up labels.
        path_imglist: a file that has the labels, with white space between: id of the record, label, name of the file.
        mean_r, mean_g, mean_b: what is subtracted from each channel, if one of them is positive.
        std_r, std_g, std_b: what each channel is divided by, if positive.
        mean_img: as for ImageRecordIter, if no mean_r, mean_g or mean_b is positive.
        resize: the length to which the shorter side is brought at first; -1 for not.
        rand_crop_prob: how often a part is taken.
        num_crop_sampler: the number of samplers, which are asked for a part in a random order.
        min_crop_scales, max_crop_scales: between which shares of the image's sides the scale of a part is.
        min_crop_aspect_ratios, max_crop_aspect_ratios: between which numbers its width, divided by its height, is.
        min_crop_overlaps, max_crop_overlaps: between which numbers its common area with an object, divided by the area
            of both together, must be, for one of the objects.
        min_crop_sample_coverages, max_crop_sample_coverages: the same for the common area divided by the part's.
        min_crop_object_coverages, max_crop_object_coverages: the same for the common area divided by the object's.
        crop_emit_mode: which objects of a part are left out: "center", those whose centre is outside; "overlap", those
            of which not more than `emit_overlap_thresh` is inside. A part without objects is refused.
        emit_overlap_thresh: described above.
        max_crop_trials: how many parts a sampler tries.
        rand_pad_prob: how often a border is added.
        max_pad_scale: up to how many times as large the image with a border is.
        max_random_hue, random_hue_prob: what is added at most to the hue (of 180), and how often.
        max_random_saturation, random_saturation_prob: the same for the saturation (of 255).
        max_random_illumination, random_illumination_prob: the same for the lightness (of 255).
        max_random_contrast, random_contrast_prob: up to how far from 1 a factor of the image is, and how often.
        rand_mirror_prob: how often left and right are exchanged, boxes too.
        fill_value: the value of borders.
        inter_method: the interpolation, as in `mx.image.imresize`; 9 chooses it by the sizes, 10 at random.
        resize_mode: "force" resizes to data_shape, "fit" to the largest size in it that has the image's ratio, "shrink"
            does so only for images that are too large. Zeros are beside and below smaller images.
        **others: arguments of ImageRecordIter that do not change images, and unknown ones, which MXNet ignores, too.

    Raises:
        MXNetError: the file cannot be read, a label has not this form or does not fit `label_width` or
            `label_pad_width`, or an argument, which the message names, has a value that it cannot have.

    Example:
        >>> image = np.zeros((2, 2, 3), np.uint8)
        >>> file = mx.recordio.MXRecordIO("boxes.rec", "w")
        >>> file.write(mx.recordio.pack_img((0, [2, 5, 7, 0.25, 0.25, 0.75, 0.75], 0, 0), image))
        >>> file.close()
        >>> next(mx.io.ImageDetRecordIter("boxes.rec", (3, 2, 2), batch_size=1)).label[0].asnumpy()
        array([[3.  , 2.  , 2.  , 7.  , 2.  , 5.  , 7.  , 0.25, 0.25, 0.75, 0.75]],
              dtype=float32)

    Source: `mxnet.io.ImageDetRecordIter` of MXNet 1.9.1.
    """

    def __init__(
        self,
        path_imgrec: str,
        data_shape: tuple[int, int, int],
        batch_size: int,
        path_imgidx: str = "",
        label_width: int = -1,
        label_pad_width: int = 0,
        label_pad_value: float = -1.0,
        path_imglist: str = "",
        mean_r: float = 0.0,
        mean_g: float = 0.0,
        mean_b: float = 0.0,
        std_r: float = 0.0,
        std_g: float = 0.0,
        std_b: float = 0.0,
        mean_img: str = "",
        resize: int = -1,
        rand_crop_prob: float = 0.0,
        min_crop_scales: Any = (0.0,),
        max_crop_scales: Any = (1.0,),
        min_crop_aspect_ratios: Any = (1.0,),
        max_crop_aspect_ratios: Any = (1.0,),
        min_crop_overlaps: Any = (0.0,),
        max_crop_overlaps: Any = (1.0,),
        min_crop_sample_coverages: Any = (0.0,),
        max_crop_sample_coverages: Any = (1.0,),
        min_crop_object_coverages: Any = (0.0,),
        max_crop_object_coverages: Any = (1.0,),
        num_crop_sampler: int = 1,
        crop_emit_mode: str = "center",
        emit_overlap_thresh: float = 0.3,
        max_crop_trials: Any = (25,),
        rand_pad_prob: float = 0.0,
        max_pad_scale: float = 1.0,
        max_random_hue: int = 0,
        random_hue_prob: float = 0.0,
        max_random_saturation: int = 0,
        random_saturation_prob: float = 0.0,
        max_random_illumination: int = 0,
        random_illumination_prob: float = 0.0,
        max_random_contrast: float = 0.0,
        random_contrast_prob: float = 0.0,
        rand_mirror_prob: float = 0.0,
        fill_value: int = 127,
        inter_method: int = 1,
        resize_mode: str = "force",
        **others: Any,
    ) -> None:
        given, owner = locals(), type(self).__name__
        self._changes = DetectionAugmenter(tuple(data_shape), owner, **{name: given[name] for name in FIELDS})
        self._length, self._pad_value, self._lists = label_width, label_pad_value, {}
        if path_imglist:
            self._lists = self._labels_of(path_imglist)
        longest = max([label.size for label in self._lists.values()], default=0)
        record = recordio.MXRecordIO(path_imgrec, "r")
        for start in self._positions(path_imgrec, path_imgidx) if not path_imglist else ():
            record.handle.seek(start)
            n = np.asarray(recordio.unpack(record.read())[0].label).size
            if label_width > 0 and n != label_width:
                raise MXNetError(f"{owner}: a record has {n} labels, label_width is {label_width}")
            longest = max(longest, n)
        if 0 < label_pad_width < longest:
            raise MXNetError(f"{owner}: label_pad_width {label_pad_width} is smaller than the longest label, {longest}")
        means = (mean_r, mean_g, mean_b)
        if max(means) > 0:
            mean_img = ""
        else:
            means = (0.0, 0.0, 0.0)
        stds = [std if std > 0 else 1.0 for std in (std_r, std_g, std_b)]
        super().__init__(
            path_imgrec, data_shape, batch_size, path_imgidx, max(longest, label_pad_width) + 4,
            **dict(zip(("mean_r", "mean_g", "mean_b", "std_r", "std_g", "std_b"), (*means, *stds), strict=True)),
            mean_img=mean_img, **{name: value for name, value in others.items() if name in _TAKEN},
        )  # fmt: skip

    def _labels_of(self, path: str) -> dict[int, np.ndarray]:
        """The labels that a list has for the numbers of records."""
        found = {}
        with open(path) as file, naming(path, ValueError, to=MXNetError):
            for line in filter(str.strip, file):
                number, *words = line.split()
                if len(words) < max(self._length, 1) + 1:
                    raise ValueError(f"a line has too few numbers: {line.strip()[:80]!r}")
                found[int(number)] = np.array(words[: self._length] if self._length > 0 else words[:-1], np.float32)
        return found

    def _decoded(self, record: bytes, rng: random.Random, out: np.ndarray) -> np.ndarray:
        header, data = recordio.unpack(record)
        channels, height, width = self._shape
        x = decode(data, 0 if channels == 1 else 1, name=type(self).__name__)
        own = self._lists.get(header.id) if self._lists else np.asarray(header.label, np.float32).reshape(-1)
        if own is None:
            raise ValueError(f"path_imglist has no labels of record {header.id}")
        x, own = self._changes(x[..., None] if x.ndim == 2 else x, own, rng)
        label = np.full((self._label_width,), self._pad_value, np.float32)
        label[: 4 + own.size] = [channels, *x.shape[:2], own.size, *own]
        whole = np.zeros((height, width, channels), np.uint8)
        whole[: x.shape[0], : x.shape[1]] = x
        self._write(whole.transpose(2, 0, 1), out)
        return label


# arguments of ImageRecordIter that do not change images
_TAKEN = frozenset(
    "scale shuffle seed seed_aug num_parts part_index round_batch preprocess_threads prefetch_buffer data_name".split()
) | {"label_name", "dtype"}
