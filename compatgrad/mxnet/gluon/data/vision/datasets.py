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
from ...._docs import sharing
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
    """A dataset whose missing files are downloaded from MXNet's server."""

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


_SERVED = """
    Files that are missing are downloaded.

    Args:
        train: the samples to train with, {count} of them; else the 10000 to test with.
        transform: a function of image and label, whose result is the sample; None for none.

    Raises:
        FileNotFoundError: a file is missing and cannot be downloaded.
        ValueError: a file is damaged.

    Source: `mxnet.gluon.data.vision.{name}` of MXNet 1.9.1.
"""


@sharing(_SERVED, count=60000)
class MNIST(_ServedDataset):
    """Handwritten digits (LeCun and others, 1998): an image, uint8, shape (28, 28, 1), and a label, 0 to 9, int32.

    Args:
        root: the folder of the four gzipped files; None is `datasets/mnist` in the environment's MXNET_HOME, or in
            ~/.mxnet.

    Example:
        >>> import os
        >>> os.makedirs("digits")
        >>> for name, shape in (("images-idx3", (5, 28, 28)), ("labels-idx1", (5,))):
        ...     head = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">i4").tobytes()
        ...     with open(f"digits/train-{name}-ubyte.gz", "wb") as f:
        ...         _ = f.write(head + bytes(int(np.prod(shape))))
        >>> dataset = gluon.data.vision.MNIST("digits")
        >>> image, label = dataset[0]
        >>> len(dataset), image.shape, int(label)
        (5, (28, 28, 1), 0)
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


@sharing(_SERVED, count=60000)
class FashionMNIST(MNIST):
    """Pictures of clothes in the format of MNIST (Xiao, Rasul, Vollgraf, 2017).

    Args:
        root: the folder of the four gzipped files; None is `datasets/fashion-mnist` in the environment's MXNET_HOME, or
            in ~/.mxnet.

    Example:
        train = gluon.data.vision.FashionMNIST(train=True).transform_first(gluon.data.vision.transforms.ToTensor())
    """

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


@sharing(_SERVED, count=50000)
class CIFAR10(_ServedDataset):
    """Pictures of 10 kinds (Krizhevsky, 2009): an image, uint8, shape (32, 32, 3), and a label, int32.

    Args:
        root: the folder of the binary version's files; None is `datasets/cifar10` in the environment's MXNET_HOME, or
            in ~/.mxnet.

    Example:
        >>> import os
        >>> os.makedirs("pictures")
        >>> for name in ("test_batch",):
        ...     with open(f"pictures/{name}.bin", "wb") as f:
        ...         _ = f.write(bytes(3073))
        >>> dataset = gluon.data.vision.CIFAR10("pictures", train=False)
        >>> image, label = dataset[0]
        >>> len(dataset), image.shape, int(label)
        (1, (32, 32, 3), 0)
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
                        member.name = os.path.basename(member.name)  # files in the archive are in a folder
                        archive.extract(member, self._root)
        images, labels = zip(*map(self._read_batch, paths), strict=True)
        self._set(np.concatenate(images), np.concatenate(labels))


@sharing(_SERVED, count=50000)
class CIFAR100(CIFAR10):
    """Pictures of 100 kinds in 20 groups (Krizhevsky, 2009): an image, uint8, shape (32, 32, 3), and a label, int32.

    Args:
        root: the folder of the binary version's files; None is `datasets/cifar100` in the environment's MXNET_HOME, or
            in ~/.mxnet.
        fine_label: labels are kinds; else groups.

    Example:
        >>> import os
        >>> os.makedirs("kinds")
        >>> for name in ("test",):
        ...     with open(f"kinds/{name}.bin", "wb") as f:
        ...         _ = f.write(bytes(3074))
        >>> dataset = gluon.data.vision.CIFAR100("kinds", train=False)
        >>> image, label = dataset[0]
        >>> len(dataset), image.shape, int(label)
        (1, (32, 32, 3), 0)
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
    """The images of a record file that `im2rec` or `recordio.pack_img` wrote, with their labels.

    Args:
        filename: the path of the .rec file; its index lies next to it, with the extension .idx.
        flag: 1 for three channels, 0 for grey.
        transform: a function of image and label, whose result is the sample; None for none.

    Raises:
        mxnet.base.MXNetError: the file cannot be opened or is damaged; in a read, a record has no image.

    Example:
        >>> file = mx.recordio.MXIndexedRecordIO("pictures.idx", "pictures.rec", "w")
        >>> header = mx.recordio.IRHeader(flag=0, label=3.0, id=0, id2=0)
        >>> file.write_idx(0, mx.recordio.pack_img(header, np.zeros((4, 6, 3), np.uint8), img_fmt=".png"))
        >>> file.close()
        >>> image, label = gluon.data.vision.ImageRecordDataset("pictures.rec")[0]
        >>> image.shape, float(label)
        ((4, 6, 3), 3.0)

    Source: `mxnet.gluon.data.vision.ImageRecordDataset` of MXNet 1.9.1.
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
    """Images in one folder for each label: an image, and the number of its folder, whose name `synsets` lists.

    Files that are no .jpg, .jpeg or .png are left out with a warning.

    Args:
        root: the folder of folders.
        flag: 1 for three channels, 0 for grey.
        transform: a function of image and label, whose result is the sample; None for none.

    Raises:
        FileNotFoundError: there is no such folder.
        mxnet.base.MXNetError: in a read, a file is no image.

    Example:
        >>> import os
        >>> header = mx.recordio.IRHeader(flag=0, label=0.0, id=0, id2=0)
        >>> _, png = mx.recordio.unpack(mx.recordio.pack_img(header, np.zeros((4, 6, 3), np.uint8), img_fmt=".png"))
        >>> for kind in ("cat", "dog"):
        ...     os.makedirs(f"pets/{kind}")
        ...     with open(f"pets/{kind}/1.png", "wb") as f:
        ...         _ = f.write(png)
        >>> dataset = gluon.data.vision.ImageFolderDataset("pets")
        >>> image, label = dataset[1]
        >>> image.shape, dataset.synsets[label]
        ((4, 6, 3), 'dog')

    Source: `mxnet.gluon.data.vision.ImageFolderDataset` of MXNet 1.9.1.
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
    """The images of a list: an image, and its label, a number or an array of several.

    Args:
        root: the folder from which paths start.
        imglist: the path of a file with lines of an index, labels and a path, separated by tabs; or a list of lists of
            labels and a path.
        flag: 1 for three channels, 0 for grey.
        transform: a function of image and label, whose result is the sample; None for none.

    Raises:
        ValueError: `imglist` is neither, or a label is no number.
        mxnet.base.MXNetError: in a read, a file is no image.

    Example:
        >>> header = mx.recordio.IRHeader(flag=0, label=0.0, id=0, id2=0)
        >>> _, png = mx.recordio.unpack(mx.recordio.pack_img(header, np.zeros((4, 6, 3), np.uint8), img_fmt=".png"))
        >>> with open("1.png", "wb") as f:
        ...     _ = f.write(png)
        >>> image, label = gluon.data.vision.ImageListDataset(".", [[3, "1.png"]])[0]
        >>> image.shape, label
        ((4, 6, 3), 3.0)

    Source: `mxnet.gluon.data.vision.ImageListDataset` of MXNet 2.0.
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
