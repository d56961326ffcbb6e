"""An iterator over images in a record file, or in a list of files."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np

from compatgrad.core.files import naming

from .. import io, recordio
from .. import ndarray as nd
from .._image_codec import array_of
from ..base import MXNetError, numeric_types
from .augment import CreateAugmenter
from .image import imdecode

__all__ = ["ImageIter"]


class ImageIter(io.DataIter):
    """Batches of augmented images, (batch size, 3, height, width), and their labels.

    Args:
        batch_size: images in a batch.
        data_shape: (3, height, width).
        label_width: labels of an image.
        path_imgrec, path_imgidx: a record file and its index, which shuffling and parts need.
        path_imglist: a file of lines index, labels, path, separated by tabs.
        path_root: folder that those paths start from.
        shuffle: the order is new in each epoch.
        part_index, num_parts: which of how many parts is read.
        aug_list: the augmenters; None for those of `CreateAugmenter`.
        imglist: a list of [labels…, path], instead of `path_imglist`.
        data_name, label_name: names of images and labels.
        dtype: dtype that labels of a list are read in: "int32", "int64", "float32" or "float64".
        last_batch_handle: "pad", "discard" or "roll_over", as of NDArrayIter.
        **kwargs: arguments of `CreateAugmenter`.

    Raises:
        AssertionError: there is neither a record file nor a list, another `dtype`, or a part or shuffling without an
            index.
        ValueError: `data_shape` has another value.
        RuntimeError: in `next`, an image is broken; the message names it.
        OSError: in `next`, an image file cannot be read.

    Example:
        >>> image = np.zeros((4, 4, 3), np.uint8)
        >>> file = mx.recordio.MXRecordIO("images.rec", "w")
        >>> for label in range(3): file.write(mx.recordio.pack_img((0, label, 0, 0), image))
        >>> file.close()
        >>> batches = mx.image.ImageIter(2, (3, 2, 2), path_imgrec="images.rec")
        >>> [(batch.data[0].shape, batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]
        [((2, 3, 2, 2), [0.0, 1.0], 0), ((2, 3, 2, 2), [2.0, 0.0], 1)]

    Source: `mxnet.image.ImageIter` of MXNet 1.9.1.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[Any] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size)
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise AssertionError("ImageIter: one of path_imgrec, path_imglist and imglist must be given")
        if dtype not in ("int32", "float32", "int64", "float64"):
            raise AssertionError(f"ImageIter: {dtype} label not supported")
        self.check_data_shape(data_shape)
        self.path_root = path_root or ""
        self.data_shape = tuple(data_shape)
        self.label_width = label_width
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.imgrec: Any = None
        self.imgidx: list[Any] | None = None
        if path_imgrec and path_imgidx:
            self.imgrec = recordio.MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            self.imgidx = list(self.imgrec.keys)
        elif path_imgrec:
            self.imgrec = recordio.MXRecordIO(path_imgrec, "r")
        self.imglist = self._listed(path_imglist, imglist, dtype)
        self._source = path_imglist or path_imgrec or "imglist"  # for errors
        self.seq: list[Any] | None = list(self.imglist) if self.imgrec is None else None
        if self.imgrec is not None and (shuffle or num_parts > 1 or path_imgidx):
            if self.imgidx is None:
                raise AssertionError("ImageIter: shuffling and parts of a record file need path_imgidx")
            self.seq = self.imgidx
        if num_parts > 1:
            if part_index >= num_parts:
                raise AssertionError(f"ImageIter: part_index {part_index} is not below num_parts {num_parts}")
            size = len(self.seq) // num_parts
            self.seq = self.seq[part_index * size : (part_index + 1) * size]
        self.num_image = None if self.seq is None else len(self.seq)
        self.provide_data = [(data_name, (batch_size, *self.data_shape))]
        self.provide_label = [(label_name, (batch_size, label_width) if label_width > 1 else (batch_size,))]
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.cur = 0
        self._over = False
        self._cache: list[Any] = []  # samples that the last epoch left for this one
        self.reset()

    @staticmethod
    def _listed(path: str | None, rows: list[Any] | None, dtype: str) -> dict[Any, Any] | None:
        if path:
            with open(path) as f, naming(path, OverflowError):
                lines = [line.strip().split("\t") for line in f if line.strip()]
                for line in lines:
                    if len(line) < 3:
                        raise ValueError(f"expected number, labels and name of a file, with tabs between, found {line}")
                return {int(line[0]): (np.array(line[1:-1], dtype=dtype), line[-1]) for line in lines}
        if not isinstance(rows, list):
            return None
        listed = {}
        for i, row in enumerate(rows, 1):
            label = row[:-1] if len(row) > 2 else [row[0]] if isinstance(row[0], numeric_types) else row[0]
            listed[str(i)] = (np.array(label, dtype=dtype).reshape(-1), row[-1])
        return listed

    def reset(self) -> None:
        """Begins again, in a new order where the images are shuffled."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rewind()
        self._over = False

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0

    def hard_reset(self) -> None:
        """Like reset, and also drops samples that would be rolled over."""
        self._cache = []
        self.reset()

    def next_sample(self) -> tuple[Any, bytes]:
        """Label and encoded image of the next sample; StopIteration at the end."""
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                raise StopIteration
            header, data = recordio.unpack(record)
            return header.label, data
        if self.cur >= self.num_image:
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, name = self.imglist[key]
            return label, self.read_image(name)
        header, data = recordio.unpack(self.imgrec.read_idx(key))
        return (header.label if self.imglist is None else self.imglist[key][0]), data

    def _sample(self) -> tuple[Any, Any]:
        label, data = self.next_sample()
        image = self.imdecode(data)
        self.check_valid_image(image)
        return label, self.postprocess_data(self.augmentation_transform(image))

    def next(self) -> io.DataBatch:
        """The next batch; StopIteration at the end."""
        if self._over:
            raise StopIteration
        samples, self._cache, pad = self._cache, [], 0
        while len(samples) < self.batch_size:
            try:
                samples.append(self._sample())
            except StopIteration:
                if self._over:  # there are fewer samples than the batch needs
                    self._rewind()
                    continue
                self._over = True
                if self.last_batch_handle == "roll_over":
                    self._cache = samples
                if not samples or self.last_batch_handle != "pad":
                    raise
                pad = self.batch_size - len(samples)
                self._rewind()
        data = nd.stack(*[image for _, image in samples])
        return io.DataBatch([data], [array_of(self._joined([label for label, _ in samples]))], pad=pad)

    def _joined(self, labels: list[Any]) -> np.ndarray:
        """The labels of a batch as one array."""
        rows = [np.asarray(label, np.float32).reshape(-1) for label in labels]
        for row in rows:
            if row.size != self.label_width:
                raise ValueError(f"{self._source}: a label has {row.size} numbers, label_width is {self.label_width}")
        return np.stack(rows).reshape(self.provide_label[0][1])

    def check_data_shape(self, data_shape: Any) -> None:
        """ValueError unless it is (3, height, width)."""
        if len(data_shape) != 3:
            raise ValueError(f"ImageIter: data_shape must be (channels, height, width), got {data_shape}")
        if data_shape[0] != 3:
            raise ValueError(f"ImageIter: images need 3 channels, got data_shape {data_shape}")

    def check_valid_image(self, data: Any) -> None:
        """RuntimeError for an image without pixels."""
        if 0 in data.shape:
            raise RuntimeError(f"Data shape is wrong: {tuple(data.shape)} has no pixels")

    def imdecode(self, s: bytes) -> nd.NDArray:
        """Decodes an image; RuntimeError names the image whose bytes are broken."""
        try:
            return imdecode(s)
        except MXNetError as e:
            at = None if self.seq is None else self.seq[self.cur - 1]
            name = f"index: {self.cur}" if at is None else f"index: {at}"
            if self.imglist is not None and at is not None:
                name = f"filename: {self.imglist[at][1]}"
            raise RuntimeError(f"Broken image {name}, {e}") from e

    def read_image(self, fname: str) -> bytes:
        """The bytes of an image file under `path_root`."""
        path = os.path.join(self.path_root, fname)
        with naming(path), open(path, "rb") as f:
            return f.read()

    def augmentation_transform(self, data: nd.NDArray) -> nd.NDArray:
        """The image after all augmenters."""
        for augment in self.auglist:
            data = augment(data)
        return data

    def postprocess_data(self, datum: nd.NDArray) -> nd.NDArray:
        """The image with its channels first."""
        return nd.transpose(datum, axes=(2, 0, 1))
