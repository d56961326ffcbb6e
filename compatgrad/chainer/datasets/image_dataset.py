"""Datasets of image files. They need Pillow."""

from __future__ import annotations

import bisect
import io
import numbers
import os
import threading
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import dataset_mixin
from compatgrad.core.files import naming
from compatgrad.formats.archives import damage

try:
    from PIL import Image

    available = True
except ImportError as e:
    available = False
    _import_error = e


def _check_pillow_availability():
    if not available:
        raise ImportError(
            f"PIL cannot be loaded. Install Pillow!\nThe actual import error is as follows:\n{_import_error}"
        )


def _read_image_as_array(path, dtype, name=None):
    """Read an image, a path or a file, as an array of shape (channels, height, width)."""
    # Pillow's decoders raise errors of many classes on broken files
    with naming(name or path, Exception, to=OSError), Image.open(path) as f:
        image = numpy.asarray(f)
    # in the order of its axes: what a program then computes with channels takes a fraction of the time that it takes
    # where the channels lie side by side
    return numpy.ascontiguousarray(image[None] if image.ndim == 2 else image.transpose(2, 0, 1), dtype=dtype)


def _read_pairs(path):
    """Read lines of a file name and an integer label."""
    pairs = []
    with open(path) as f, naming(path):
        for i, line in enumerate(f):
            fields = line.split()
            if len(fields) != 2:
                raise ValueError(f"invalid format at line {i} in file {path}")
            with naming(f"line {i}"):
                pairs.append((fields[0], int(fields[1])))
    return pairs


class ImageDataset(dataset_mixin.DatasetMixin):
    """Images in files, read at each access as arrays of shape (channels, height, width).

    Args:
        paths: paths of the images below `root`, or the path of a file with one of them in each line.
        root: folder of the images.
        dtype: dtype of the arrays; None is `config.dtype`.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: Pillow is not installed.

    Example:
        >>> from PIL import Image
        >>> Image.new("RGB", (4, 2), (255, 0, 0)).save("red.png")
        >>> image = chainer.datasets.ImageDataset(["red.png"])[0]
        >>> image.shape, image[:, 0, 0]
        ((3, 2, 4), array([255.,   0.,   0.], dtype=float32))

    Source: `chainer.datasets.ImageDataset` of Chainer 7.8.1.
    """

    def __init__(self, paths: str | Sequence[str], root: str = ".", dtype: Any = None) -> None:
        _check_pillow_availability()
        if isinstance(paths, str):
            with open(paths) as f, naming(paths):
                paths = [line.strip() for line in f]
        self._paths = paths
        self._root = root
        self._dtype = get_dtype(dtype)

    def __len__(self):
        return len(self._paths)

    def get_example(self, i: int) -> numpy.ndarray:
        """The i-th image."""
        return _read_image_as_array(os.path.join(self._root, self._paths[i]), self._dtype)


class LabeledImageDataset(dataset_mixin.DatasetMixin):
    """Images in files, read at each access, and their labels: its examples are pairs of an array of shape (channels,
    height, width) and one of shape ().

    Args:
        pairs: pairs of a path below `root` and a label, or the path of a file with a path and an integer in each line.
        root: folder of the images.
        dtype: dtype of the images; None is `config.dtype`.
        label_dtype: dtype of the labels.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: Pillow is not installed.
        ValueError: a line of the file is not a path and an integer.

    Example:
        >>> from PIL import Image
        >>> Image.new("L", (4, 2), 9).save("gray.png")
        >>> image, label = chainer.datasets.LabeledImageDataset([("gray.png", 3)])[0]
        >>> image.shape, label
        ((1, 2, 4), array(3, dtype=int32))

    Source: `chainer.datasets.LabeledImageDataset` of Chainer 7.8.1.
    """

    def __init__(
        self, pairs: str | Sequence[tuple[str, Any]], root: str = ".", dtype: Any = None, label_dtype: Any = numpy.int32
    ) -> None:
        _check_pillow_availability()
        self._pairs = _read_pairs(pairs) if isinstance(pairs, str) else pairs
        self._root = root
        self._dtype = get_dtype(dtype)
        self._label_dtype = label_dtype

    def __len__(self):
        return len(self._pairs)

    def get_example(self, i: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The i-th image and its label."""
        path, label = self._pairs[i]
        image = _read_image_as_array(os.path.join(self._root, path), self._dtype)
        with naming(f"the label of {os.path.join(self._root, path)}", OverflowError):
            return image, numpy.array(label, dtype=self._label_dtype)


class LabeledZippedImageDataset(dataset_mixin.DatasetMixin):
    """Images in a zip file, read at each access, and their labels.

    Args:
        zipfilename: path of the zip file.
        labelfilename: path of a file with a name in the zip file and an integer in each line.
        dtype: dtype of the images; None is `config.dtype`.
        label_dtype: dtype of the labels.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: Pillow is not installed.
        ValueError: a line of the file of labels is not a name and an integer.

    Example:
        >>> from PIL import Image
        >>> from zipfile import ZipFile
        >>> Image.new("L", (4, 2), 9).save("gray.png")
        >>> with ZipFile("images.zip", "w") as zip, open("labels.txt", "w") as labels:
        ...     zip.write("gray.png")
        ...     count = labels.write("gray.png 3\\n")
        >>> image, label = chainer.datasets.LabeledZippedImageDataset("images.zip", "labels.txt")[0]
        >>> image.shape, label
        ((1, 2, 4), array(3, dtype=int32))

    Source: `chainer.datasets.LabeledZippedImageDataset` of Chainer 7.8.1.
    """

    def __init__(self, zipfilename: str, labelfilename: str, dtype: Any = None, label_dtype: Any = numpy.int32) -> None:
        _check_pillow_availability()
        self._pairs = _read_pairs(labelfilename)
        self._label_dtype = label_dtype
        self._zipfile = ZippedImageDataset(zipfilename, dtype=dtype)

    def __len__(self):
        return len(self._pairs)

    def get_example(self, i: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The i-th image and its label."""
        path, label = self._pairs[i]
        image = self._zipfile.get_example(path)
        with naming(f"the label of {path}", OverflowError):
            return image, numpy.array(label, dtype=self._label_dtype)


class MultiZippedImageDataset(dataset_mixin.DatasetMixin):
    """The images of several zip files, one after the other, read at each access as arrays of shape (channels, height,
    width).

    Args:
        zipfilenames: paths of the zip files, which hold nothing but images.
        dtype: dtype of the images; None is `config.dtype`.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: Pillow is not installed.

    Example:
        >>> from PIL import Image
        >>> from zipfile import ZipFile
        >>> Image.new("L", (4, 2), 9).save("gray.png")
        >>> with ZipFile("images.zip", "w") as zip:
        ...     zip.write("gray.png")
        >>> len(chainer.datasets.MultiZippedImageDataset(["images.zip", "images.zip"]))
        2

    Source: `chainer.datasets.MultiZippedImageDataset` of Chainer 7.8.1.
    """

    def __init__(self, zipfilenames: Sequence[str], dtype: Any = None) -> None:
        self._zfs = [ZippedImageDataset(name, dtype) for name in zipfilenames]
        self._zpaths_accumlens = [0]
        for zf in self._zfs:
            self._zpaths_accumlens.append(self._zpaths_accumlens[-1] + len(zf))

    def __len__(self):
        return self._zpaths_accumlens[-1]

    def get_example(self, i: int) -> numpy.ndarray:
        """The i-th image of all."""
        number = bisect.bisect(self._zpaths_accumlens, i) - 1
        return self._zfs[number].get_example(i - self._zpaths_accumlens[number])


class ZippedImageDataset(dataset_mixin.DatasetMixin):
    """The images in a zip file, read at each access as arrays of shape (channels, height, width). A forked process
    opens the file again.

    Args:
        zipfilename: path of the zip file, which holds nothing but images.
        dtype: dtype of the images; None is `config.dtype`.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: Pillow is not installed.

    Example:
        >>> from PIL import Image
        >>> from zipfile import ZipFile
        >>> Image.new("L", (4, 2), 9).save("gray.png")
        >>> with ZipFile("images.zip", "w") as zip:
        ...     zip.write("gray.png")
        >>> chainer.datasets.ZippedImageDataset("images.zip")[0].shape
        (1, 2, 4)

    Source: `chainer.datasets.ZippedImageDataset` of Chainer 7.8.1.
    """

    def __init__(self, zipfilename: str, dtype: Any = None) -> None:
        _check_pillow_availability()
        self._zipfilename = zipfilename
        self._dtype = get_dtype(dtype)
        self._open()
        self._paths = [name for name in self._zf.namelist() if not name.endswith("/")]
        self._lock = threading.Lock()

    def _open(self):
        with damage(self._zipfilename):
            self._zf = zipfile.ZipFile(self._zipfilename)
        self._zf_pid = os.getpid()

    def __len__(self):
        return len(self._paths)

    def __getstate__(self):
        return {**self.__dict__, "_zf": None, "_lock": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def get_example(self, i_or_filename: int | str) -> numpy.ndarray:
        """An image by its index or by its name in the zip file."""
        name = self._paths[i_or_filename] if isinstance(i_or_filename, numbers.Integral) else i_or_filename
        with self._lock:
            # A forked process shares the position in the file with its parent, so it opens the file again.
            if self._zf is None or self._zf_pid != os.getpid():
                self._open()
            with damage(f"{self._zipfilename}: member {name!r}"):
                data = self._zf.read(name)
        return _read_image_as_array(io.BytesIO(data), self._dtype, f"{self._zipfilename}: member {name!r}")
