"""CSVIter, LibSVMIter and MNISTIter: batches of the samples in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from compatgrad.core.files import naming
from compatgrad.formats import decimals, idx

from .. import ndarray as nd
from ..base import MXNetError
from ._image_records import (
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
)
from ._numbered import MXDataIter, part
from .io import DataDesc

__all__ = ["MXDataIter", "CSVIter", "LibSVMIter", "MNISTIter", "ImageRecordIter", "ImageRecordIter_v1",
           "ImageRecordInt8Iter", "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1"]  # fmt: skip


def _lines(path: str) -> Any:
    """The path for `np.loadtxt`, or the file's lines without the commas at their ends, which it does not read."""
    with open(path, encoding="latin-1") as file:
        if not file.readline().rstrip().endswith(","):
            return path
        file.seek(0)
        return [line.rstrip().removesuffix(",") for line in file]


def _rows(path: str, dtype: Any) -> np.ndarray:
    if dtype is np.float32:
        with open(path, "rb") as file:
            table = decimals.table(file.read(), dtype)
        if table is not None:
            return table
    return np.loadtxt(_lines(path), delimiter=",", dtype=dtype, ndmin=2)


def _table(path: str, dtype: Any) -> np.ndarray:
    paths = sorted(os.path.join(path, name) for name in os.listdir(path)) if os.path.isdir(path) else [path]
    try:
        tables = [_rows(p, dtype) for p in paths]
        return tables[0] if len(tables) == 1 else np.concatenate(tables)
    except (OSError, ValueError) as e:
        raise MXNetError(f"CSVIter: cannot read {path!r}: {e}") from e


class CSVIter(MXDataIter):
    r"""Batches of the rows of files of comma-separated numbers.

    Args:
        data_csv: path of a file, or of a folder of files, which are read in the order of their names.
        data_shape: shape that a row is given.
        label_csv: the same for labels, which are 0 without a file.
        label_shape: shape of a label.
        batch_size: rows in a batch.
        round_batch: rows that fill up the last batch are left out of the next epoch.
        dtype: "float32", "int32" or "int64".
        data_name, label_name: names of data and labels.
        **_: the other arguments of MXNet, without effect.

    Raises:
        MXNetError: a file cannot be read, a row has another size, or an argument a value that it cannot have.

    Example:
        >>> import pathlib
        >>> written = pathlib.Path("rows.csv").write_text("1,2\n3,4\n5,6\n")
        >>> batches = mx.io.CSVIter(data_csv="rows.csv", data_shape=(2,), batch_size=2)
        >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
        [([[1.0, 2.0], [3.0, 4.0]], 0), ([[5.0, 6.0], [1.0, 2.0]], 1)]

    Source: `mxnet.io.CSVIter` of MXNet 1.9.1.
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
                file = data_csv if name == "data" else label_csv
                raise MXNetError(f"CSVIter: {file}: {name}_shape {shape} does not fit rows of {table.shape[1]} numbers")
        label_shape = () if tuple(label_shape) == (1,) else tuple(label_shape)
        shapes = (tuple(data_shape), dtype), (label_shape, dtype)
        with naming(data_csv, to=MXNetError):
            self._begin(batch_size, rows, *shapes, (data_name, label_name), round_batch)

    def _load(self, samples: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        return self._data[samples], self._label[samples]


Row = tuple[np.ndarray, np.ndarray]  # the values of a row that are not 0, and their columns


def _sparse_rows(path: str, columns: int) -> tuple[list[list[float]], list[Row]]:
    """For each line of a LibSVM file: the numbers without a place, and the (values, places) of the others."""
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
    r"""Batches of the rows of files in LibSVM's form, as arrays of storage type `csr`.

    A line is `label place:number place:number …`, with places from 0.

    Args:
        data_libsvm: path of the file.
        data_shape: shape of a row, of one axis.
        label_libsvm: path of a file with the labels, whose lines may be sparse too; without it a line's first number is
            its label.
        label_shape: shape of a label.
        num_parts, part_index: the file is cut into so many parts, of which this one is read.
        batch_size: rows in a batch.
        round_batch: must be True: rows that fill up the last batch are left out of the next epoch.
        data_name, label_name: names of data and labels.
        **_: the other arguments of MXNet, without effect.

    Raises:
        MXNetError: a file cannot be read, a line has another form, the two files differ in length, or an argument has a
            value that it cannot have.

    Example:
        >>> import pathlib
        >>> written = pathlib.Path("rows.svm").write_text("1 0:0.5 2:1.5\n0 1:2\n")
        >>> batch = next(mx.io.LibSVMIter(data_libsvm="rows.svm", data_shape=(3,), batch_size=2))
        >>> batch.data[0].asnumpy(), batch.label[0].asnumpy()
        (array([[0.5, 0. , 1.5],
               [0. , 2. , 0. ]], dtype=float32), array([1., 0.], dtype=float32))

    Source: `mxnet.io.LibSVMIter` of MXNet 1.9.1.
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
        self._rows, self._labels = (part(items, part_index, num_parts) for items in (rows, labels))
        shapes = (tuple(data_shape), np.float32), (tuple(label_shape), np.float32)
        with naming(data_libsvm, to=MXNetError):
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
    """Batches of MNIST's files: pixels in [0, 1), float32, and labels; whole batches only.

    Args:
        image, label: the files, gzipped if their names end so.
        batch_size: images in a batch.
        shuffle: a random order from `seed`, the same in all epochs; else the order of the file.
        flat: images of shape (784,) instead of (1, 28, 28).
        seed: seed of the order.
        silent: accepted, without effect.
        num_parts, part_index: the images are cut into so many parts, of which this one is read.
        data_name, label_name: names of images and labels.
        **_: the other arguments of MXNet, without effect.

    Raises:
        MXNetError: a file cannot be read, or holds something else.

    Example:
        >>> import pathlib, struct
        >>> written = pathlib.Path("images").write_bytes(struct.pack(">IIII", 0x803, 2, 1, 1) + bytes([0, 128]))
        >>> written = pathlib.Path("labels").write_bytes(struct.pack(">II", 0x801, 2) + bytes([7, 8]))
        >>> batch = next(mx.io.MNISTIter(image="images", label="labels", batch_size=2, shuffle=False))
        >>> batch.data[0].asnumpy().ravel(), batch.label[0].asnumpy()
        (array([0. , 0.5], dtype=float32), array([7., 8.], dtype=float32))

    Source: `mxnet.io.MNISTIter` of MXNet 1.9.1.
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
        order = part(order.tolist(), part_index, num_parts)
        h, w = self._images.shape[1:]
        shapes = ((h * w,) if flat else (1, h, w), np.float32), ((), np.float32)
        names = (data_name, label_name)
        self._begin(batch_size, len(order), *shapes, names, whole_batches=True, order=lambda: order)

    def _load(self, samples: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        return self._images[samples].astype(np.float32) / 256, self._labels[samples].astype(np.float32)
