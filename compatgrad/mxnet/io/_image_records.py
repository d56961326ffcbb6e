"""ImageRecordIter and its variants: batches of the images of a record file."""

from __future__ import annotations

import os
import random
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch

from compatgrad.core.files import naming

from .. import ndarray as nd
from .. import recordio
from .._image_codec import decode
from ..base import MXNetError
from ..ndarray.ndarray import torch_dtype
from ._ahead import AheadIter
from ._augmenter import FIELDS, Augmenter
from ._numbered import part

__all__ = ["ImageRecordIter", "ImageRecordIter_v1", "ImageRecordInt8Iter", "ImageRecordUInt8Iter",
           "ImageRecordUInt8Iter_v1"]  # fmt: skip


# Images that a thread decodes before it turns to the next job: a job costs about as much as a tenth of a small image.
_IMAGES_OF_A_JOB = 4


class ImageRecordIter(AheadIter):
    """Batches of the images of a record file, float32 unless `dtype` has another value.

    Images are changed in this order: size, angle and ratio, border, part, colours, mean and scale, mirror.

    Args:
        path_imgrec: the record file.
        data_shape: (channels, height, width), with 1 or 3 channels.
        batch_size: images in a batch.
        path_imgidx: the index of the file, without which it is read through once.
        label_width: how many labels a record has.
        resize: first resizes the shorter side to it; -1 for not.
        rand_crop: a random part, otherwise the middle.
        rand_mirror: left and right are exchanged with probability 0.5.
        mean_r, mean_g, mean_b: what is subtracted from each channel.
        std_r, std_g, std_b: what each channel is divided by afterwards.
        scale: what it is multiplied by at last.
        shuffle: the order is new in each epoch.
        seed: seed of all random choices.
        num_parts, part_index: the file is cut into so many parts, of which this one is read.
        round_batch: samples that fill up the last batch are left out of the next epoch.
        preprocess_threads: how many threads decode, at most one for each core.
        data_name, label_name: names of images and labels.
        dtype: "float32", "uint8" for the pixels as they are, or "int8" for pixels minus their rounded means within
            [-128, 127]. Without effect where the class's name says the type.
        pad: adds a border of so many pixels, of the value fill_value.
        fill_value: of pixels outside of the image.
        path_imglist: a file that has the labels, tab separated: id of the record, labels, name of the file.
        mean_img: a file with the image `mean_img`, which is subtracted in place of mean_r, mean_g and mean_b; if it
            does not exist, it is made of all images.
        mirror: left and right are exchanged.
        max_random_contrast, max_random_illumination: up to how far from 1 a factor of the image is, and from 0 a number
            that is added to it.
        seed_aug: seed of all random choices but the order; None for `seed`.
        inter_method: the interpolation, as in `mx.image.imresize`.
        max_rotate_angle: up to how many degrees it is turned.
        rotate: by how many degrees it is turned instead, if above 0.
        max_aspect_ratio, min_aspect_ratio: the width is changed against the height, by a factor between these; without
            min_aspect_ratio by one between 1 - max_aspect_ratio and 1 + max_aspect_ratio.
        max_shear_ratio: up to how far the rows are moved against each other.
        max_random_scale, min_random_scale: between which factors the size is changed.
        max_img_size, min_img_size: between which numbers of pixels the sides are then.
        max_crop_size, min_crop_size: a square of a random size between these, resized to data_shape; -1 for not.
        random_resized_crop: a part of a random area, and of a random ratio, resized to data_shape.
        max_random_area, min_random_area: between which shares of the image's area.
        brightness, contrast, saturation: up to how far from 1 the factors of these are, which come in a random order.
        pca_noise: how far it is moved in the directions in which the colours of ImageNet differ most.
        random_h, random_s, random_l: what is added at most to hue (of 180), saturation and lightness (of 255).
        prefetch_buffer: how many batches are decoded ahead.
        **others: arguments without effect here or on images, and unknown ones, which MXNet ignores, too.

    Raises:
        MXNetError: a file cannot be read, has no samples, or no labels of a record; or an argument, which the message
            names, has a value that it cannot have.
        OSError: a file cannot be opened.

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
        path_imglist: str = "",
        mean_img: str = "",
        mirror: bool = False,
        max_random_contrast: float = 0.0,
        max_random_illumination: float = 0.0,
        seed_aug: int | None = None,
        inter_method: int = 1,
        max_rotate_angle: int = 0,
        max_aspect_ratio: float = 0.0,
        min_aspect_ratio: float | None = None,
        max_shear_ratio: float = 0.0,
        max_crop_size: int = -1,
        min_crop_size: int = -1,
        random_resized_crop: bool = False,
        max_random_scale: float = 1.0,
        min_random_scale: float = 1.0,
        max_random_area: float = 1.0,
        min_random_area: float = 1.0,
        max_img_size: float = 1e10,
        min_img_size: float = 0.0,
        brightness: float = 0.0,
        contrast: float = 0.0,
        saturation: float = 0.0,
        pca_noise: float = 0.0,
        random_h: int = 0,
        random_s: int = 0,
        random_l: int = 0,
        rotate: int = -1,
        prefetch_buffer: int = 4,
        **others: Any,
    ) -> None:
        given = locals()
        if dtype is not None and type(self)._dtype is np.float32:
            self._dtype = np.dtype(dtype).type
        if self._dtype not in (np.float32, np.uint8, np.int8):
            raise MXNetError(f"{type(self).__name__}: dtype must be float32, uint8 or int8, not {dtype}")
        self._record = recordio.MXRecordIO(path_imgrec, "r")
        starts = part(self._positions(path_imgrec, path_imgidx), part_index, num_parts)
        self._starts = starts
        self._shape = tuple(data_shape)
        self._label_width = label_width
        self._augment = Augmenter(self._shape, type(self).__name__, **{name: given[name] for name in FIELDS})
        self._labels = self._labels_of(path_imglist) if path_imglist else None
        self._rand_mirror, self._mirror = rand_mirror, mirror
        self._contrast, self._illumination = max_random_contrast, max_random_illumination
        channels = self._shape[0]
        self._mean = np.array([mean_r, mean_g, mean_b][:channels], np.float32).reshape(-1, 1, 1)
        self._factor = scale / np.array([std_r, std_g, std_b][:channels], np.float32).reshape(-1, 1, 1)
        self._random, shuffler = random.Random(seed if seed_aug is None else seed_aug), random.Random(seed)
        numbers = list(range(len(starts)))

        def order() -> Sequence[int]:
            if shuffle:
                shuffler.shuffle(numbers)
            return numbers

        label_shape = () if label_width == 1 else (label_width,)
        shapes = (self._shape, self._dtype), (label_shape, np.float32)
        with naming(path_imgrec, to=MXNetError):
            self._begin(batch_size, len(starts), *shapes, (data_name, label_name), round_batch, order=order)
        self._begin_threads(preprocess_threads, prefetch_buffer)
        if mean_img:
            self._mean = self._mean_image(mean_img)

    def _labels_of(self, path: str) -> dict[int, np.ndarray]:
        """The labels that a list has for the numbers of records."""
        found = {}
        with open(path) as file, naming(path, ValueError, to=MXNetError):
            for line in file:
                number, *labels = line.rstrip("\n").split("\t")
                found[int(float(number))] = np.array(labels[: self._label_width], np.float32)
        return found

    def _mean_image(self, path: str) -> np.ndarray:
        """The mean image of a file, which is made if it does not exist."""
        if not os.path.exists(path):
            total = np.zeros(self._shape, np.float64)
            for i in range(self._count):
                total += self._load([i])[0][0]
            nd.save(path, {"mean_img": nd.array(total / self._count)})
        arrays = nd.load(path)
        mean = (arrays["mean_img"] if isinstance(arrays, dict) else arrays[0]).asnumpy()
        if mean.shape != self._shape:
            raise MXNetError(f"{type(self).__name__}: mean_img: expected the shape {self._shape}, got {mean.shape}")
        return mean

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

    def _state(self) -> Any:
        return super()._state(), self._random.getstate()

    def _go_back(self, state: Any) -> None:
        super()._go_back(state[0])
        self._random.setstate(state[1])

    def _errors_of_files(self) -> AbstractContextManager[Any]:
        return naming(self._record.uri, ValueError, ArithmeticError, to=MXNetError)

    def _start(self, samples: Sequence[int]) -> tuple[list[Future[None]], Callable[[], tuple[Any, Any]]]:
        # of torch, which keeps the memory of earlier batches: new pages would cost as much as writing the images
        data = torch.empty((len(samples), *self._shape), dtype=torch_dtype(self._dtype)).numpy()
        labels: list[Any] = [None] * len(samples)
        work = [(i, self._starts[n], self._random.getrandbits(64)) for i, n in enumerate(samples)]
        jobs = [
            self._threads.submit(_decode, weakref.ref(self), work[i : i + _IMAGES_OF_A_JOB], data, labels)
            for i in range(0, len(work), _IMAGES_OF_A_JOB)
        ]
        return jobs, lambda: (data, np.stack(labels))

    def _decoded(self, record: bytes, rng: random.Random, out: np.ndarray) -> np.ndarray:
        """Writes the image of a record into `out`, and gives its labels."""
        header, data = recordio.unpack(record)
        x = decode(data, 0 if self._shape[0] == 1 else 1, name=type(self).__name__)
        x = self._augment(x[..., None] if x.ndim == 2 else x, rng)
        label = header.label
        if self._labels is not None:
            label = self._labels.get(header.id)
            if label is None:
                raise ValueError(f"path_imglist has no labels of record {header.id}")
        label = np.asarray(label, np.float32).reshape(-1)[: self._label_width]
        mirror = self._rand_mirror and rng.random() < 0.5 or self._mirror
        self._write(x.transpose(2, 0, 1), out[..., ::-1] if mirror else out, rng)
        return label

    def _write(self, x: np.ndarray, out: np.ndarray, rng: random.Random | None = None) -> None:
        """Writes an image, in the dtype of the batch, after mean and scale."""
        if self._dtype is np.uint8:
            out[...] = x
        elif self._dtype is np.int8:
            away = np.floor(np.abs(self._mean) + 0.5) * np.sign(self._mean)  # rounds halves away from zero, like C
            out[...] = (x.astype(np.int16) - away.astype(np.int16)).clip(-128, 127)
        else:
            np.subtract(x, self._mean, out=out, dtype=np.float32)
            out *= self._factor
            if rng is not None and (self._contrast or self._illumination):
                out *= np.float32(1 + rng.uniform(-1, 1) * self._contrast)
                out += np.float32(rng.uniform(-1, 1) * self._illumination) * self._factor


def _decode(
    owner: weakref.ref[ImageRecordIter], work: list[tuple[int, int, int]], data: np.ndarray, labels: list[Any]
) -> None:
    """A job of a thread: images of a batch. Jobs that wait keep no iterator alive that the program has dropped."""
    for i, position, seed in work:
        iterator = owner()
        if iterator is None:
            return
        labels[i] = iterator._decoded(iterator._record._read_at(position), random.Random(seed), data[i])


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
