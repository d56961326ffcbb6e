"""Iterators of batches that lie in files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from compatgrad.formats import idx

from .. import ndarray as nd
from .. import recordio
from .._image_codec import decode
from .._image_resize import resize
from ..base import MXNetError
from .io import DataBatch, DataDesc, DataIter

__all__ = ["MXDataIter", "CSVIter", "LibSVMIter", "MNISTIter", "ImageRecordIter", "ImageRecordIter_v1",
           "ImageRecordInt8Iter", "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1"]  # fmt: skip

Names = tuple[str, str]


class MXDataIter(DataIter):
    """Base class: an iterator over numbered samples, one array of data and one of labels.

    A subclass calls `_begin` and defines `_load(samples)`, the two NumPy arrays of the samples of those numbers.
    """

    def _begin(
        self,
        batch_size: int,
        count: int,
        data: tuple[tuple[int, ...], Any],
        label: tuple[tuple[int, ...], Any],
        names: Names,
        round_batch: bool = True,
        whole_batches: bool = False,
        order: Callable[[], Sequence[int]] | None = None,
    ) -> None:
        """`data`, `label`: shape of one sample's and dtype. `order`: the numbers of an epoch.

        `round_batch`: a last batch that is filled up takes samples from the beginning of the next epoch, which they
        are then missing in. `whole_batches`: a last batch that is too short is dropped.
        """
        if count <= 0:
            raise MXNetError(f"{type(self).__name__}: there are no samples")
        if batch_size < 1:
            raise MXNetError(f"{type(self).__name__}: batch_size: expected 1 or more, got {batch_size}")
        super().__init__(batch_size)
        self.provide_data = [DataDesc(names[0], (batch_size, *data[0]), data[1])]
        self.provide_label = [DataDesc(names[1], (batch_size, *label[0]), label[1])]
        self._count = count
        self._round_batch = round_batch
        self._whole_batches = whole_batches
        self._order = order or (lambda: range(count))
        self._epoch = list(self._order())
        self._at = 0
        self._borrowed = 0

    def _load(self, samples: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def reset(self) -> None:
        if self._at:
            self._epoch = list(self._order())
        self._at, self._borrowed = self._borrowed, 0

    def iter_next(self) -> bool:
        left = len(self._epoch) - self._at
        if left <= 0 or (self._whole_batches and left < self.batch_size):
            return False
        samples = self._epoch[self._at : self._at + self.batch_size]
        self._at += len(samples)
        pad = self.batch_size - len(samples)
        if pad:
            if self._round_batch and pad > len(self._epoch):
                raise MXNetError(
                    f"{type(self).__name__}: number of input must be bigger than batch size: a batch of "
                    f"{self.batch_size} cannot be made of {len(self._epoch)} samples"
                )
            samples = samples + [self._epoch[i % len(self._epoch)] for i in range(pad)]
            self._borrowed = pad % len(self._epoch) if self._round_batch else 0
        data, label = self._load(samples)
        desc = self.provide_data[0], self.provide_label[0]
        arrays = [self._array(x, d) for x, d in zip((data, label), desc, strict=True)]
        self._batch = DataBatch([arrays[0]], [arrays[1]], pad, np.array(samples, dtype=np.uint64))
        return True

    def _array(self, values: Any, desc: DataDesc) -> nd.NDArray:
        return nd.array(values.reshape(desc.shape), dtype=desc.dtype)

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self._batch

    def getdata(self) -> Any:
        """The array of data of the current batch, not in a list."""
        return self._batch.data[0]

    def getlabel(self) -> Any:
        """The array of labels of the current batch, not in a list."""
        return self._batch.label[0]

    def getindex(self) -> Any:
        return self._batch.index

    def getpad(self) -> Any:
        return self._batch.pad


def _part(items: list[Any], part_index: int, num_parts: int) -> list[Any]:
    size = len(items) // num_parts
    return items[part_index * size : (part_index + 1) * size] if num_parts > 1 else items


def _lines(path: str) -> Any:
    """The path, or the lines of a file in which a comma stands behind the last number too."""
    with open(path, encoding="latin-1") as file:
        if not file.readline().rstrip().endswith(","):
            return path
        file.seek(0)
        return [line.rstrip().removesuffix(",") for line in file]


def _table(path: str, dtype: Any) -> np.ndarray:
    paths = sorted(os.path.join(path, name) for name in os.listdir(path)) if os.path.isdir(path) else [path]
    try:
        return np.concatenate([np.loadtxt(_lines(p), delimiter=",", dtype=dtype, ndmin=2) for p in paths])
    except (OSError, ValueError) as e:
        raise MXNetError(f"CSVIter: cannot read {path!r}: {e}") from e


class CSVIter(MXDataIter):
    """Batches of the rows of files of comma-separated numbers.

    Args:
        data_csv: path of a file, or of a folder of files.
        data_shape: shape that a row is given.
        label_csv, label_shape: the same for labels, which are 0 without a file.
        round_batch: a last batch is filled up with rows that the next epoch then lacks; otherwise it lacks none.
        dtype: 'float32', 'int32' or 'int64'.

    Raises:
        MXNetError: a file cannot be read, a row has another size, or an argument a value that it cannot have.
    """

    def __init__(
        self,
        data_csv: str,
        data_shape: tuple[int, ...],
        label_csv: str = "NULL",
        label_shape: tuple[int, ...] = (1,),
        batch_size: int = 1,
        round_batch: bool = True,
        dtype: Any = "float32",
        data_name: str = "data",
        label_name: str = "softmax_label",
        **_: Any,
    ) -> None:
        try:
            dtype = np.dtype(dtype).type
        except TypeError:
            raise MXNetError(f"CSVIter: dtype: expected 'float32', 'int32' or 'int64', got {dtype!r}") from None
        self._data = _table(data_csv, dtype)
        rows = len(self._data)
        self._label = np.zeros((rows, 1), dtype) if label_csv == "NULL" else _table(label_csv, dtype)
        if len(self._label) != rows:
            raise MXNetError(f"CSVIter: {rows} rows of data, but {len(self._label)} of labels")
        for name, table, shape in (("data", self._data, data_shape), ("label", self._label, label_shape)):
            if table.shape[1] != np.prod(shape):
                raise MXNetError(f"CSVIter: {name}_shape {shape} does not fit rows of {table.shape[1]} numbers")
        label_shape = () if tuple(label_shape) == (1,) else tuple(label_shape)
        shapes = (tuple(data_shape), dtype), (label_shape, dtype)
        self._begin(batch_size, rows, *shapes, (data_name, label_name), round_batch)

    def _load(self, samples: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        return self._data[samples], self._label[samples]


Row = tuple[np.ndarray, np.ndarray]  # the numbers of a row that are not 0, and where they stand


def _sparse_rows(path: str, columns: int) -> tuple[list[list[float]], list[Row]]:
    """Of each line of a LibSVM file, the numbers without a place and those with one."""
    firsts, rows = [], []
    try:
        with open(path) as file:
            for number, line in enumerate(file, 1):
                words = line.partition("#")[0].split()
                if not words:
                    continue
                pairs = [word.split(":") for word in words if ":" in word]
                try:
                    firsts.append([float(word) for word in words if ":" not in word])
                    places = np.array([int(place) for place, _ in pairs], np.int64)
                    values = np.array([float(value) for _, value in pairs], np.float32)
                except (ValueError, OverflowError) as e:
                    raise MXNetError(
                        f"LibSVMIter: {path!r}, line {number}: expected numbers and place:number: {e}"
                    ) from e
                if len(places) and not 0 <= places.min() <= places.max() < columns:
                    raise MXNetError(
                        f"LibSVMIter: {path!r}, line {number}: places count from 0 and end before {columns}, "
                        f"the size that the shape gives; there is {places.max() if places.min() >= 0 else places.min()}"
                    )
                order = np.argsort(places, kind="stable")
                rows.append((values[order], places[order]))
    except (OSError, UnicodeDecodeError) as e:
        raise MXNetError(f"LibSVMIter: cannot read {path!r}: {e}") from e
    return firsts, rows


class LibSVMIter(MXDataIter):
    """Batches of the rows of files in LibSVM's form, as arrays of storage type `csr`.

    A line is `label place:number place:number …`, with places from 0.

    Args:
        data_libsvm: path of the file.
        data_shape: shape of a row, of one axis.
        label_libsvm: path of a file with the labels, whose lines may be sparse too; without it a line's first number is
            its label.
        label_shape: shape of a label.
        num_parts, part_index: the file is cut into so many parts, of which this one is read.
        round_batch: must be True: the last batch is filled up with rows that the next epoch then lacks.

    Raises:
        MXNetError: a file cannot be read, a line has another form, or the two files differ in length.
    """

    def __init__(
        self,
        data_libsvm: str,
        data_shape: tuple[int, ...],
        label_libsvm: str = "NULL",
        label_shape: tuple[int, ...] = (1,),
        num_parts: int = 1,
        part_index: int = 0,
        batch_size: int = 1,
        round_batch: bool = True,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **_: Any,
    ) -> None:
        if not round_batch:
            raise MXNetError("LibSVMIter: round_batch must be True, as in MXNet")
        if len(data_shape) != 1:
            raise MXNetError(f"LibSVMIter: data_shape has one axis, got {tuple(data_shape)}")
        firsts, rows = _sparse_rows(data_libsvm, int(data_shape[0]))
        labels: list[Any]
        if label_libsvm == "NULL":
            if np.prod(label_shape) != 1:
                raise MXNetError(f"LibSVMIter: label_shape is (1,) without label_libsvm, got {tuple(label_shape)}")
            label_shape = ()
            if lacking := [number for number, first in enumerate(firsts, 1) if len(first) != 1]:
                raise MXNetError(f"LibSVMIter: {data_libsvm!r}: row {lacking[0]} has no label, or more than one")
            labels = [first[0] for first in firsts]
        else:
            labels = _sparse_rows(label_libsvm, int(np.prod(label_shape)))[1]
            if len(labels) != len(rows):
                raise MXNetError(f"LibSVMIter: {len(rows)} rows of data, but {len(labels)} of labels")
        self._rows, self._labels = (_part(items, part_index, num_parts) for items in (rows, labels))
        shapes = (tuple(data_shape), np.float32), (tuple(label_shape), np.float32)
        self._begin(batch_size, len(self._rows), *shapes, (data_name, label_name))

    def _load(self, samples: Sequence[int]) -> Any:
        labels = [self._labels[i] for i in samples]
        dense = np.array(labels, np.float32) if self.provide_label[0].shape[1:] == () else labels
        return [self._rows[i] for i in samples], dense

    def _array(self, values: Any, desc: DataDesc) -> nd.NDArray:
        if isinstance(values, np.ndarray):
            return super()._array(values, desc)
        ends = np.cumsum([0, *(len(places) for _, places in values)])
        numbers, places = (np.concatenate(parts) for parts in zip(*values, strict=True))
        return nd.sparse.csr_matrix((numbers, places, ends), shape=desc.shape)


def _idx_file(path: str) -> np.ndarray:
    try:
        return idx.read(path)
    except (OSError, ValueError) as e:
        raise MXNetError(f"MNISTIter: cannot read {path!r}: {e}") from e


class MNISTIter(MXDataIter):
    """Batches of MNIST's files: pixels in [0, 1) of shape (1, 28, 28), or (784,) if `flat`; whole batches only.

    Args:
        image, label: the files, gzipped if their names end so.
        shuffle: one order for all epochs, which `seed` says.
    """

    def __init__(
        self,
        image: str = "./train-images-idx3-ubyte",
        label: str = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int = 1,
        part_index: int = 0,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **_: Any,
    ) -> None:
        self._images, self._labels = _idx_file(image), _idx_file(label)
        if self._images.ndim != 3 or self._labels.ndim != 1 or len(self._labels) != len(self._images):
            raise MXNetError(
                f"MNISTIter: expected images (N, height, width) and labels (N,), got {self._images.shape} in {image!r} "
                f"and {self._labels.shape} in {label!r}"
            )
        order = np.arange(len(self._images))
        if shuffle:
            np.random.RandomState(seed).shuffle(order)
        order = _part(order.tolist(), part_index, num_parts)
        h, w = self._images.shape[1:]
        shapes = ((h * w,) if flat else (1, h, w), np.float32), ((), np.float32)
        names = (data_name, label_name)
        self._begin(batch_size, len(order), *shapes, names, whole_batches=True, order=lambda: order)

    def _load(self, samples: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        return self._images[samples].astype(np.float32) / 256, self._labels[samples].astype(np.float32)


class ImageRecordIter(MXDataIter):
    """Batches of the images of a record file: float32 of shape (batch size, *data_shape).

    Args:
        path_imgrec: the record file; `path_imgidx` its index, without which the file is read through once.
        data_shape: (channels, height, width).
        label_width: how many labels a record has.
        resize: first resizes the shorter side to it, -1 for not.
        rand_crop, rand_mirror: a random part (otherwise the middle), left and right exchanged at random.
        mean_r, …, std_b, scale: the result is (pixel - mean) / std * scale.
        shuffle, seed, num_parts, part_index: order, and which part of the file is read.
        round_batch: a last batch is filled up with samples that the next epoch then lacks.
        preprocess_threads: how many threads decode.
        dtype: "float32", or "uint8" for the pixels as they are, or "int8" for pixel - rounded mean within [-128, 127].

    Other random changes are not there: MXNetError names the argument.
    """

    _dtype: Any = np.float32
    _IGNORED = frozenset("verbose prefetch_buffer ctx device_id path_imglist_root seed_aug shuffle_chunk_size "
                         "shuffle_chunk_seed fill_value inter_method".split())  # fmt: skip

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
        **others: Any,
    ) -> None:
        if dtype is not None and type(self)._dtype is np.float32:
            self._dtype = np.dtype(dtype).type
        if self._dtype not in (np.float32, np.uint8, np.int8):
            raise MXNetError(f"{type(self).__name__}: dtype must be float32, uint8 or int8, not {dtype}")
        unknown = [name for name, value in others.items() if value and name not in self._IGNORED]
        if unknown:
            raise MXNetError(f"{type(self).__name__}: argument {unknown[0]} is not supported")
        self._record = recordio.MXRecordIO(path_imgrec, "r")
        starts = _part(self._positions(path_imgrec, path_imgidx), part_index, num_parts)
        self._starts = starts
        self._shape = tuple(data_shape)
        self._label_width = label_width
        self._resize, self._rand_crop, self._rand_mirror = resize, rand_crop, rand_mirror
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
        if h < height or w < width:
            h, w = max(h, height), max(w, width)
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
            away = np.floor(np.abs(self._mean) + 0.5) * np.sign(self._mean)  # halves away from zero, as C rounds
            return (x.astype(np.int16) - away.astype(np.int16)).clip(-128, 127).astype(np.int8)
        return (x.astype(np.float32) - self._mean) * self._factor


class ImageRecordUInt8Iter(ImageRecordIter):
    """As ImageRecordIter, with the pixels as they are, uint8."""

    _dtype = np.uint8


class ImageRecordInt8Iter(ImageRecordIter):
    """As ImageRecordIter, with pixels minus their rounded means, int8."""

    _dtype = np.int8


class ImageRecordIter_v1(ImageRecordIter):
    """ImageRecordIter by the name of its first version."""


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    """ImageRecordUInt8Iter by the name of its first version."""
