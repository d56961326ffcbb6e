"""ImageDetRecordIter: batches of images with boxes from record files."""

from __future__ import annotations

import random
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import recordio
from .._image_codec import decode
from .._image_resize import resize
from ..base import MXNetError
from ._image_records import ImageRecordIter

__all__ = ["ImageDetRecordIter"]


class ImageDetRecordIter(ImageRecordIter):
    """Batches of the images of a record file, brought to `data_shape`, and of their boxes.

    A label is (channels, height, width, length of what follows), then the record's own: length of its header, width
    of an object, more header, and for each object (class, left, top, right, bottom, ...) as parts of the image; and
    `label_pad_value` up to `label_pad_width` + 4 numbers.

    Args:
        path_imgrec: the record file.
        data_shape: (channels, height, width), with 1 or 3 channels.
        batch_size: images in a batch.
        path_imgidx: the index of the file, without which it is read through once more.
        label_width: how long the labels of all records are; -1: they differ.
        label_pad_width: what labels are filled up to; 0 for the longest one.
        label_pad_value: the number that fills up labels.
        rand_mirror_prob: how often left and right are exchanged, boxes too.
        std_r, std_g, std_b: what each channel is divided by; 0 is 1.
        inter_method: the interpolation, as in `mx.image.imresize`.
        resize_mode: "force".
        **others: arguments of ImageRecordIter. Random parts, borders and colours are not supported.

    Raises:
        MXNetError: the file cannot be read, a label does not fit `label_width` or `label_pad_width`, or an argument is
            not supported; the message names it.

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

    _IGNORED = frozenset(
        "verbose prefetch_buffer ctx device_id path_imglist_root seed_aug shuffle_chunk_size shuffle_chunk_seed "
        "aug_seq min_crop_scales max_crop_scales min_crop_aspect_ratios max_crop_aspect_ratios min_crop_overlaps "
        "max_crop_overlaps min_crop_sample_coverages max_crop_sample_coverages min_crop_object_coverages "
        "max_crop_object_coverages num_crop_sampler crop_emit_mode emit_overlap_thresh max_crop_trials max_pad_scale "
        "max_random_hue max_random_saturation max_random_illumination max_random_contrast".split()
    )  # arguments without effect, and of changes that a probability, another argument, switches on
    _TAKEN = frozenset(
        "mean_r mean_g mean_b scale shuffle seed num_parts part_index round_batch preprocess_threads data_name "
        "label_name dtype fill_value".split()
    )  # arguments of ImageRecordIter
    _NEUTRAL = MappingProxyType({
        "max_random_scale": 1, "min_random_scale": 1, "max_random_area": 1, "min_random_area": 1, "max_img_size": 1e10,
        "max_crop_size": -1, "min_crop_size": -1, "rotate": -1,
    })  # fmt: skip

    def __init__(
        self,
        path_imgrec: str,
        data_shape: tuple[int, int, int],
        batch_size: int,
        path_imgidx: str = "",
        label_width: int = -1,
        label_pad_width: int = 0,
        label_pad_value: float = -1.0,
        rand_mirror_prob: float = 0.0,
        std_r: float = 0.0,
        std_g: float = 0.0,
        std_b: float = 0.0,
        inter_method: int = 1,
        resize_mode: str = "force",
        **others: Any,
    ) -> None:
        given = {name: value for name, value in others.items() if value and value != self._NEUTRAL.get(name)}
        refused = [name for name in given if name not in self._IGNORED | self._TAKEN | {"resize"}]
        if refused:
            raise MXNetError(f"{type(self).__name__}: argument {refused[0]} is not supported")
        others = {name: value for name, value in others.items() if name in self._TAKEN or name == "resize"}
        for name, value, only in (("resize_mode", resize_mode, "force"), ("resize", others.pop("resize", -1), -1)):
            if value != only:
                raise MXNetError(f"{type(self).__name__}: argument {name}={value!r} is not supported, only {only!r}")
        record = recordio.MXRecordIO(path_imgrec, "r")
        longest = 0
        for start in self._positions(path_imgrec, path_imgidx):
            record.handle.seek(start)
            n = np.asarray(recordio.unpack(record.read())[0].label).size
            if label_width > 0 and n != label_width:
                raise MXNetError(f"{type(self).__name__}: a record has {n} labels, label_width is {label_width}")
            longest = max(longest, n)
        if 0 < label_pad_width < longest:
            raise MXNetError(
                f"{type(self).__name__}: label_pad_width {label_pad_width} is smaller than the longest label, {longest}"
            )
        self._pad_value, self._mirror_prob, self._inter = label_pad_value, rand_mirror_prob, inter_method
        super().__init__(
            path_imgrec, data_shape, batch_size, path_imgidx, max(longest, label_pad_width) + 4,
            std_r=std_r or 1.0, std_g=std_g or 1.0, std_b=std_b or 1.0, **others,
        )  # fmt: skip

    def _decoded(self, job: tuple[bytes, random.Random]) -> tuple[np.ndarray, np.ndarray]:
        record, rng = job
        header, data = recordio.unpack(record)
        channels, height, width = self._shape
        x = decode(data, 0 if channels == 1 else 1, name=type(self).__name__)
        x = x[..., None] if x.ndim == 2 else x
        own = np.array(header.label, np.float32).reshape(-1)
        if rng.random() < self._mirror_prob:
            x = x[:, ::-1]
            begin, step = int(own[0]), int(own[1])
            left, right = own[begin + 1 :: step].copy(), own[begin + 3 :: step].copy()
            own[begin + 1 :: step], own[begin + 3 :: step] = 1 - right, 1 - left
        if x.shape[:2] != (height, width):
            x = resize(np.ascontiguousarray(x), height, width, self._inter)
        label = np.full((self._label_width,), self._pad_value, np.float32)
        label[: 4 + own.size] = [channels, height, width, own.size, *own]
        return self._finished(x.transpose(2, 0, 1)), label
