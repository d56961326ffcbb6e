"""ImageRecordIter and its variants: batches of the images of a record file."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from compatgrad.core.files import naming

from .. import recordio
from .._image_codec import decode
from .._image_resize import resize
from ..base import MXNetError
from ._numbered import MXDataIter, part

__all__ = ["ImageRecordIter", "ImageRecordIter_v1", "ImageRecordInt8Iter", "ImageRecordUInt8Iter",
           "ImageRecordUInt8Iter_v1"]  # fmt: skip


class ImageRecordIter(MXDataIter):
    """Batches of the images of a record file, float32 unless `dtype` has another value.

    Args:
        path_imgrec: the record file.
        data_shape: (channels, height, width), with 1 or 3 channels.
        batch_size: images in a batch.
        path_imgidx: the index of the file, without which it is read through once.
        label_width: how many labels a record has.
        resize: first resizes the shorter side to it; -1 for not.
        pad: then adds a border of so many pixels, of the value fill_value.
        rand_crop: a random part, otherwise the middle.
        rand_mirror: left and right are exchanged with probability 0.5.
        mean_r, mean_g, mean_b: what is subtracted from each channel.
        std_r, std_g, std_b: what each channel is divided by afterwards.
        scale: what it is multiplied by at last.
        shuffle: the order is new in each epoch.
        seed: seed of all random choices.
        num_parts, part_index: the file is cut into so many parts, of which this one is read.
        round_batch: samples that fill up the last batch are left out of the next epoch.
        preprocess_threads: how many threads decode.
        data_name, label_name: names of images and labels.
        dtype: "float32", "uint8" for the pixels as they are, or "int8" for pixels minus their rounded means within
            [-128, 127]. Without effect where the class's name says the type.
        fill_value: of the border's pixels.
        **others: the other arguments of MXNet; values with which they would change images are not supported.

    Raises:
        MXNetError: the file cannot be read or has no samples, `dtype` has another value, or an argument, which the
            message names, is not supported.

    Example:
        >>> image = np.zeros((2, 2, 3), np.uint8)
        >>> file = mx.recordio.MXRecordIO("images.rec", "w")
        >>> for label in range(3): file.write(mx.recordio.pack_img((0, label, 0, 0), image))
        >>> file.close()
        >>> batches = mx.io.ImageRecordIter("images.rec", (3, 2, 2), batch_size=2)
        >>> [(batch.data[0].shape, batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]
        [((2, 3, 2, 2), [0.0, 1.0], 0), ((2, 3, 2, 2), [2.0, 0.0], 1)]

    Source: `mxnet.io.ImageRecordIter` of MXNet 1.9.1.
    """

    _dtype: Any = np.float32
    _IGNORED = frozenset("verbose prefetch_buffer ctx device_id path_imglist_root seed_aug shuffle_chunk_size "
                         "shuffle_chunk_seed inter_method".split())  # fmt: skip
    _NEUTRAL = {"max_random_scale": 1, "min_random_scale": 1, "max_random_area": 1, "min_random_area": 1,
                "max_img_size": 1e10, "max_crop_size": -1, "min_crop_size": -1, "rotate": -1}  # fmt: skip

    def __init__(
        self,
        path_imgrec: str,
        data_shape: tuple[int, int, int],
        batch_size: int,
        path_imgidx: str = "",
        label_width: int = 1,
        resize: int = -1,
        rand_crop: bool = False,
        rand_mirror: bool = False,
        mean_r: float = 0.0,
        mean_g: float = 0.0,
        mean_b: float = 0.0,
        std_r: float = 1.0,
        std_g: float = 1.0,
        std_b: float = 1.0,
        scale: float = 1.0,
        shuffle: bool = False,
        seed: int = 0,
        num_parts: int = 1,
        part_index: int = 0,
        round_batch: bool = True,
        preprocess_threads: int = 4,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = None,
        pad: int = 0,
        fill_value: int = 255,
        **others: Any,
    ) -> None:
        if dtype is not None and type(self)._dtype is np.float32:
            self._dtype = np.dtype(dtype).type
        if self._dtype not in (np.float32, np.uint8, np.int8):
            raise MXNetError(f"{type(self).__name__}: dtype must be float32, uint8 or int8, not {dtype}")
        given = {name: value for name, value in others.items() if value and value != self._NEUTRAL.get(name)}
        unknown = [name for name in given if name not in self._IGNORED]
        if unknown:
            raise MXNetError(f"{type(self).__name__}: argument {unknown[0]} is not supported")
        self._record = recordio.MXRecordIO(path_imgrec, "r")
        starts = part(self._positions(path_imgrec, path_imgidx), part_index, num_parts)
        self._starts = starts
        self._shape = tuple(data_shape)
        self._label_width = label_width
        self._resize, self._rand_crop, self._rand_mirror = resize, rand_crop, rand_mirror
        self._pad, self._fill = pad, fill_value
        channels = self._shape[0]
        self._mean = np.array([mean_r, mean_g, mean_b][:channels], np.float32).reshape(-1, 1, 1)
        self._factor = scale / np.array([std_r, std_g, std_b][:channels], np.float32).reshape(-1, 1, 1)
        self._random = random.Random(seed)
        self._threads = ThreadPoolExecutor(max(1, preprocess_threads), "decode")
        numbers = list(range(len(starts)))

        def order() -> Sequence[int]:
            if shuffle:
                self._random.shuffle(numbers)
            return numbers

        label_shape = () if label_width == 1 else (label_width,)
        shapes = (self._shape, self._dtype), (label_shape, np.float32)
        with naming(path_imgrec, to=MXNetError):
            self._begin(batch_size, len(starts), *shapes, (data_name, label_name), round_batch, order=order)

    @staticmethod
    def _positions(path: str, index: str) -> list[int]:
        if index:
            indexed = recordio.MXIndexedRecordIO(index, path, "r")
            return [indexed.idx[key] for key in indexed.keys]
        record, starts = recordio.MXRecordIO(path, "r"), []
        while True:
            start = record.handle.tell()
            if record.read() is None:
                return starts
            starts.append(start)

    def _load(self, samples: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        jobs = []
        for i in samples:
            self._record.handle.seek(self._starts[i])
            draws = self._random.random(), self._random.random(), self._random.random()
            jobs.append((self._record.read(), draws))
        with naming(self._record.uri, ValueError, ArithmeticError, to=MXNetError):
            done = list(self._threads.map(self._decoded, jobs))
        return np.stack([image for image, _ in done]), np.stack([label for _, label in done])

    def _decoded(self, job: tuple[bytes, tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
        record, (across, down, mirror) = job
        header, data = recordio.unpack(record)
        channels, height, width = self._shape
        x = decode(data, 0 if channels == 1 else 1, name=type(self).__name__)
        x = x[..., None] if x.ndim == 2 else x
        h, w = x.shape[:2]
        if self._resize > 0:
            short = self._resize
            h, w = (h * short // w, short) if h > w else (short, w * short // h)
            x = resize(x, h, w, 1)
        if self._pad > 0:
            border = ((self._pad, self._pad), (self._pad, self._pad), (0, 0))
            x = np.pad(x, border, constant_values=self._fill)
            h, w = x.shape[:2]
        if h < height:
            h, w = height, int(np.float32(height) / np.float32(h) * np.float32(w))
            x = resize(x, h, w, 1)
        if w < width:
            h, w = int(np.float32(width) / np.float32(w) * np.float32(h)), width
            x = resize(x, h, w, 1)
        left, top = w - width, h - height
        left, top = (int(across * (left + 1)), int(down * (top + 1))) if self._rand_crop else (left // 2, top // 2)
        x = x[top : top + height, left : left + width]
        if self._rand_mirror and mirror < 0.5:
            x = x[:, ::-1]
        label = np.asarray(header.label, np.float32).reshape(-1)[: self._label_width]
        return self._finished(x.transpose(2, 0, 1)), label

    def _finished(self, x: np.ndarray) -> np.ndarray:
        if self._dtype is np.uint8:
            return x
        if self._dtype is np.int8:
            away = np.floor(np.abs(self._mean) + 0.5) * np.sign(self._mean)  # rounds halves away from zero, like C
            return (x.astype(np.int16) - away.astype(np.int16)).clip(-128, 127).astype(np.int8)
        return (x.astype(np.float32) - self._mean) * self._factor


class ImageRecordUInt8Iter(ImageRecordIter):
    _dtype = np.uint8


class ImageRecordInt8Iter(ImageRecordIter):
    _dtype = np.int8


class ImageRecordIter_v1(ImageRecordIter):
    pass


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    pass


for _kind, _summary in (
    (ImageRecordUInt8Iter, "Batches of the images of a record file, uint8, with the pixels as they are."),
    (ImageRecordInt8Iter, "Batches of the images of a record file, int8: pixels minus their rounded means."),
    (ImageRecordIter_v1, "ImageRecordIter by the name of its first version."),
    (ImageRecordUInt8Iter_v1, "ImageRecordUInt8Iter by the name of its first version."),
):
    if ImageRecordIter.__doc__:  # python -OO leaves none
        _, _, _rest = ImageRecordIter.__doc__.partition("\n")
        _kind.__doc__ = f"{_summary}\n" + _rest.replace("ImageRecordIter", _kind.__name__)
