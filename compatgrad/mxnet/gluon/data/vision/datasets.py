"""Datasets of images: MNIST, CIFAR and folders, lists or record files of one's own."""

from __future__ import annotations

import os
import tarfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from compatgrad.formats import idx

from .... import image, recordio
from ...._image_codec import array_of
from ....base import data_dir
from ....util import is_np_array
from ... import utils
from .. import dataset

__all__ = [
    "MNIST",
    "FashionMNIST",
    "CIFAR10",
    "CIFAR100",
    "ImageRecordDataset",
    "ImageFolderDataset",
    "ImageListDataset",
]

Transform = Callable[..., Any]


def _root(name: str) -> str:
    return os.path.join(data_dir(), "datasets", name)


class _ServedDataset(dataset._DownloadedDataset):
    """A dataset whose files may be fetched from MXNet's server."""

    _namespace: str

    def _fetch(self, name: str, sha1: str) -> str:
        """The path of a file under `root`, which is downloaded unless it is there."""
        path = os.path.join(self._root, name)
        if os.path.exists(path):
            if utils.check_sha1(path, sha1):
                return path
            warnings.warn(f"{path} is not the published file (its SHA-1 differs); it is used as it is", stacklevel=5)
            return path
        try:
            return utils.download(
                utils._get_repo_file_url(f"gluon/dataset/{self._namespace}", name), path=self._root, sha1_hash=sha1
            )
        except Exception as e:
            raise FileNotFoundError(
                f"{type(self).__name__}: the file {name} is not in {self._root!r} and cannot be downloaded ({e}). "
                f"Put it there, or give the folder that holds it as `root`"
            ) from e

    def _set(self, data: np.ndarray, label: np.ndarray) -> None:
        self._data = array_of(data)
        self._label = array_of(label) if is_np_array() else label


class MNIST(_ServedDataset):
    """Handwritten digits: (uint8 image of shape (28, 28, 1), label 0 to 9 as int32).

    Args:
        root: folder of the four gzipped files; default $MXNET_HOME/datasets/mnist.
        train: 60000 samples to train with, or 10000 to test with.
        transform: function of image and label, whose result is the sample.
    """

    _namespace = "mnist"
    _files = {
        True: (
            ("train-images-idx3-ubyte.gz", "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d"),
            ("train-labels-idx1-ubyte.gz", "2a80914081dc54586dbdf242f9805a6b8d2a15fc"),
        ),
        False: (
            ("t10k-images-idx3-ubyte.gz", "c3a25af1f52dad7f726cce8cacb138654b760d48"),
            ("t10k-labels-idx1-ubyte.gz", "763e7fa3757d93b0cdec073cef058b2004252c17"),
        ),
    }

    def __init__(self, root: str | None = None, train: bool = True, transform: Transform | None = None) -> None:
        self._train = train
        super().__init__(_root(self._namespace) if root is None else root, transform)

    def _get_data(self) -> None:
        images, labels = (self._fetch(*file) for file in self._files[bool(self._train)])
        self._set(idx.read(images, 3)[..., None], idx.read(labels, 1).astype(np.int32))


class FashionMNIST(MNIST):
    """Pictures of clothes in the format of MNIST; default folder $MXNET_HOME/datasets/fashion-mnist."""

    _namespace = "fashion-mnist"
    _files = {
        True: (
            ("train-images-idx3-ubyte.gz", "0cf37b0d40ed5169c6b3aba31069a9770ac9043d"),
            ("train-labels-idx1-ubyte.gz", "236021d52f1e40852b06a4c3008d8de8aef1e40b"),
        ),
        False: (
            ("t10k-images-idx3-ubyte.gz", "626ed6a7c06dd17c0eec72fa3be1740f146a2863"),
            ("t10k-labels-idx1-ubyte.gz", "17f9ab60e7257a1620f4ad76bbbaf857c3920701"),
        ),
    }


class CIFAR10(_ServedDataset):
    """Pictures of 10 kinds: (uint8 image of shape (32, 32, 3), label as int32).

    Args:
        root: folder of the binary version's files; default $MXNET_HOME/datasets/cifar10.
        train: 50000 samples to train with, or 10000 to test with.
        transform: function of image and label, whose result is the sample.
    """

    _namespace = "cifar10"
    _archive_file = ("cifar-10-binary.tar.gz", "fab780a1e191a7eda0f345501ccd62d20f7ed891")
    _files = {True: [f"data_batch_{i}.bin" for i in range(1, 6)], False: ["test_batch.bin"]}
    _labels = 1  # bytes before each image

    def __init__(self, root: str | None = None, train: bool = True, transform: Transform | None = None) -> None:
        self._train = train
        super().__init__(_root(self._namespace) if root is None else root, transform)

    def _read_batch(self, filename: str) -> tuple[np.ndarray, np.ndarray]:
        with open(filename, "rb") as f:
            records = np.frombuffer(f.read(), np.uint8)
        if len(records) % (3072 + self._labels):
            raise ValueError(f"{filename} is cut off: {len(records)} bytes, records have {3072 + self._labels}")
        records = records.reshape(-1, 3072 + self._labels)
        images = records[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, records[:, self._label_column()].astype(np.int32)

    def _label_column(self) -> int:
        return 0

    def _get_data(self) -> None:
        names = self._files[bool(self._train)]
        paths = [os.path.join(self._root, name) for name in names]
        if not all(map(os.path.exists, paths)):
            with tarfile.open(self._fetch(*self._archive_file)) as archive:
                wanted = {name for group in self._files.values() for name in group}
                for member in archive.getmembers():
                    if member.isfile() and os.path.basename(member.name) in wanted:
                        member.name = os.path.basename(member.name)  # the archive has a folder of its own
                        archive.extract(member, self._root)
        images, labels = zip(*map(self._read_batch, paths), strict=True)
        self._set(np.concatenate(images), np.concatenate(labels))


class CIFAR100(CIFAR10):
    """Pictures of 100 kinds in 20 groups, as CIFAR10 otherwise; default folder $MXNET_HOME/datasets/cifar100.

    Args:
        fine_label: labels are kinds; otherwise groups.
    """

    _namespace = "cifar100"
    _archive_file = ("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b")
    _files = {True: ["train.bin"], False: ["test.bin"]}
    _labels = 2

    def __init__(
        self,
        root: str | None = None,
        fine_label: bool = False,
        train: bool = True,
        transform: Transform | None = None,
    ) -> None:
        self._fine_label = fine_label
        super().__init__(root, train, transform)

    def _label_column(self) -> int:
        return int(self._fine_label)


class ImageRecordDataset(dataset.RecordFileDataset):
    """The images of a record file that im2rec or recordio.pack_img wrote: (image, label).

    Args:
        filename: the .rec file; its index lies next to it, with the extension .idx.
        flag: 1 for three channels, 0 for grey.
        transform: function of image and label, whose result is the sample.
    """

    def __init__(self, filename: str, flag: int = 1, transform: Transform | None = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        header, data = recordio.unpack(super().__getitem__(idx))
        sample = image.imdecode(data, self._flag), header.label
        return sample if self._transform is None else self._transform(*sample)


class _ImageFiles(dataset.Dataset):
    """Image files with labels: `items` is a list of (path, label)."""

    items: list[tuple[str, Any]]

    def __init__(self, root: str, flag: int, transform: Transform | None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        sample = image.imread(path, self._flag), label
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self.items)


class ImageFolderDataset(_ImageFiles):
    """Images in one folder for each label, whose names `synsets` lists in order: (image, number of the folder).

    Args:
        root: the folder of folders.
        flag: 1 for three channels, 0 for grey.
        transform: function of image and label, whose result is the sample.

    Files that are no .jpg, .jpeg or .png are left out with a warning.
    """

    _exts = (".jpg", ".jpeg", ".png")

    def __init__(self, root: str, flag: int = 1, transform: Transform | None = None) -> None:
        super().__init__(root, flag, transform)
        self.synsets: list[str] = []
        self.items = []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"Ignoring {path}, which is not a directory.", stacklevel=2)
                continue
            self.items += [(file, len(self.synsets)) for file in self._images(path)]
            self.synsets.append(folder)

    def _images(self, folder: str) -> list[str]:
        files = []
        for name in sorted(os.listdir(folder)):
            ext = os.path.splitext(name)[1]
            path = os.path.join(folder, name)
            if ext.lower() in self._exts:
                files.append(path)
            else:
                warnings.warn(f"Ignoring {path} of type {ext}. Only support {', '.join(self._exts)}", stacklevel=3)
        return files


class ImageListDataset(_ImageFiles):
    """Images of a list (of MXNet 2): (image, label), the label a number or an array of several.

    Args:
        root: folder that the paths start from.
        imglist: path of a file with lines index, labels, path, separated by tabs; or a list of [labels…, path].
        flag: 1 for three channels, 0 for grey.
        transform: function of image and label, whose result is the sample.
    """

    def __init__(self, root: str = ".", imglist: Any = None, flag: int = 1, transform: Transform | None = None) -> None:
        super().__init__(root, flag, transform)
        if isinstance(imglist, str):
            with open(os.path.join(self._root, imglist)) as f:
                rows = [line.split("\t")[1:] for line in map(str.strip, f) if line]
        elif isinstance(imglist, list):
            rows = imglist
        else:
            raise ValueError(f"ImageListDataset: imglist must be a path or a list, not {type(imglist).__name__}")
        self.items = []
        for row in rows:
            *label, path = row
            numbers = np.array(label[0] if len(label) == 1 else label, dtype=np.float32).reshape(-1)
            self.items.append(
                (os.path.join(self._root, path), numbers[0].item() if numbers.size == 1 else array_of(numbers))
            )
