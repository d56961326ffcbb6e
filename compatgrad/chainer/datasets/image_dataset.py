"""Datasets of image files. They need Pillow."""

import bisect
import io
import numbers
import os
import threading
import zipfile

import numpy

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import dataset_mixin

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


def _read_image_as_array(path, dtype):
    """Read an image, a path or a file, as an array of shape (channels, height, width)."""
    with Image.open(path) as f:
        image = numpy.asarray(f, dtype=dtype)
    if image.ndim == 2:
        image = image[..., None]
    return image.transpose(2, 0, 1)


def _read_pairs(path):
    """Read lines of a file name and an integer label."""
    pairs = []
    with open(path) as f:
        for i, line in enumerate(f):
            fields = line.split()
            if len(fields) != 2:
                raise ValueError(f"invalid format at line {i} in file {path}")
            pairs.append((fields[0], int(fields[1])))
    return pairs


class ImageDataset(dataset_mixin.DatasetMixin):
    """Dataset of images, arrays of shape (channels, height, width), read at each access.

    `paths`: list of paths below `root`, or path of a file with one path per line. `dtype` of the arrays, by
    default ``chainer.config.dtype``. Raises ImportError without Pillow.
    """

    def __init__(self, paths, root=".", dtype=None):
        _check_pillow_availability()
        if isinstance(paths, str):
            with open(paths) as f:
                paths = [line.strip() for line in f]
        self._paths = paths
        self._root = root
        self._dtype = get_dtype(dtype)

    def __len__(self):
        return len(self._paths)

    def get_example(self, i):
        return _read_image_as_array(os.path.join(self._root, self._paths[i]), self._dtype)


class LabeledImageDataset(dataset_mixin.DatasetMixin):
    """Dataset of images, as in `ImageDataset`, and labels.

    `pairs`: list of paths and labels, or path of a file with lines of a path and an integer; ValueError for
    other lines.
    """

    def __init__(self, pairs, root=".", dtype=None, label_dtype=numpy.int32):
        _check_pillow_availability()
        self._pairs = _read_pairs(pairs) if isinstance(pairs, str) else pairs
        self._root = root
        self._dtype = get_dtype(dtype)
        self._label_dtype = label_dtype

    def __len__(self):
        return len(self._pairs)

    def get_example(self, i):
        path, label = self._pairs[i]
        image = _read_image_as_array(os.path.join(self._root, path), self._dtype)
        return image, numpy.array(label, dtype=self._label_dtype)


class LabeledZippedImageDataset(dataset_mixin.DatasetMixin):
    """Dataset of images in a zip file and labels: lines of a file name and an integer in `labelfilename`."""

    def __init__(self, zipfilename, labelfilename, dtype=None, label_dtype=numpy.int32):
        _check_pillow_availability()
        self._pairs = _read_pairs(labelfilename)
        self._label_dtype = label_dtype
        self._zipfile = ZippedImageDataset(zipfilename, dtype=dtype)

    def __len__(self):
        return len(self._pairs)

    def get_example(self, i):
        path, label = self._pairs[i]
        return self._zipfile.get_example(path), numpy.array(label, dtype=self._label_dtype)


class MultiZippedImageDataset(dataset_mixin.DatasetMixin):
    """Dataset of the images in several zip files, in order."""

    def __init__(self, zipfilenames, dtype=None):
        self._zfs = [ZippedImageDataset(name, dtype) for name in zipfilenames]
        self._zpaths_accumlens = [0]
        for zf in self._zfs:
            self._zpaths_accumlens.append(self._zpaths_accumlens[-1] + len(zf))

    def __len__(self):
        return self._zpaths_accumlens[-1]

    def get_example(self, i):
        number = bisect.bisect(self._zpaths_accumlens, i) - 1
        return self._zfs[number].get_example(i - self._zpaths_accumlens[number])


class ZippedImageDataset(dataset_mixin.DatasetMixin):
    """Dataset of the images in a zip file, which holds nothing else."""

    def __init__(self, zipfilename, dtype=None):
        _check_pillow_availability()
        self._zipfilename = zipfilename
        self._dtype = get_dtype(dtype)
        self._open()
        self._paths = [name for name in self._zf.namelist() if not name.endswith("/")]
        self._lock = threading.Lock()

    def _open(self):
        self._zf = zipfile.ZipFile(self._zipfilename)
        self._zf_pid = os.getpid()

    def __len__(self):
        return len(self._paths)

    def __getstate__(self):
        return {**self.__dict__, "_zf": None, "_lock": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def get_example(self, i_or_filename):
        """Return an image by its index or its name in the archive."""
        name = self._paths[i_or_filename] if isinstance(i_or_filename, numbers.Integral) else i_or_filename
        with self._lock:
            # A forked process shares the position in the file with its parent.
            if self._zf is None or self._zf_pid != os.getpid():
                self._open()
            data = self._zf.read(name)
        return _read_image_as_array(io.BytesIO(data), self._dtype)
