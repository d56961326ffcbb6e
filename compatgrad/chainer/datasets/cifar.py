"""CIFAR-10 and CIFAR-100."""

from __future__ import annotations

import os
import pickle
import tarfile
from typing import Any

import numpy

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import download
from compatgrad.chainer.datasets import tuple_dataset

# The members of the archive that hold the training and the test set, and the key of the labels in each.
_CONTENTS = {
    "cifar-10": (
        [f"cifar-10-batches-py/data_batch_{i}" for i in range(1, 6)],
        ["cifar-10-batches-py/test_batch"],
        "labels",
    ),
    "cifar-100": (["cifar-100-python/train"], ["cifar-100-python/test"], "fine_labels"),
}


def get_cifar10(withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: Any = None) -> tuple[Any, Any]:
    """The training and the test set of CIFAR-10, 50,000 and 10,000 images of ten classes. The first call downloads them
    from www.cs.toronto.edu/~kriz; `get_dataset_root()/pfnet/chainer/cifar` keeps them.

    Args:
        withlabel: True gives datasets of pairs of an image and a label of int32, False arrays of images.
        ndim: 3 for images of shape (3, 32, 32), 1 for (3072,).
        scale: the largest value.
        dtype: dtype of the images; None is `config.dtype`.

    Returns:
        Both sets, `TupleDataset` or arrays.

    Raises:
        OSError: the download fails.
        ValueError: `ndim` is not 1 or 3.

    Example:
        train, test = chainer.datasets.get_cifar10()
        image, label = train[0]  # an array of shape (3, 32, 32) and a number

    Source: `chainer.datasets.get_cifar10` of Chainer 7.8.1.
    """
    return _get_cifar("cifar-10", withlabel, ndim, scale, dtype)


def get_cifar100(withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: Any = None) -> tuple[Any, Any]:
    """The training and the test set of CIFAR-100, 50,000 and 10,000 images of a hundred classes. The first call
    downloads them from www.cs.toronto.edu/~kriz; `get_dataset_root()/pfnet/chainer/cifar` keeps them.

    Args:
        withlabel: True gives datasets of pairs of an image and a label of int32, False arrays of images.
        ndim: 3 for images of shape (3, 32, 32), 1 for (3072,).
        scale: the largest value.
        dtype: dtype of the images; None is `config.dtype`.

    Returns:
        Both sets, `TupleDataset` or arrays.

    Raises:
        OSError: the download fails.
        ValueError: `ndim` is not 1 or 3.

    Example:
        train, test = chainer.datasets.get_cifar100()
        image, label = train[0]  # an array of shape (3, 32, 32) and a number

    Source: `chainer.datasets.get_cifar100` of Chainer 7.8.1.
    """
    return _get_cifar("cifar-100", withlabel, ndim, scale, dtype)


def _get_cifar(name, withlabel, ndim, scale, dtype):
    root = download.get_dataset_directory("pfnet/chainer/cifar")
    raw = download.cache_or_load_file(os.path.join(root, f"{name}.npz"), lambda path: _make_npz(path, name), numpy.load)
    return tuple(
        [
            _preprocess_cifar(raw[f"{part}_x"], raw[f"{part}_y"], withlabel, ndim, scale, dtype)
            for part in ("train", "test")
        ]
    )


def _make_npz(path, name):
    train, test, key = _CONTENTS[name]
    archive_path = download.cached_download(f"https://www.cs.toronto.edu/~kriz/{name}-python.tar.gz")
    arrays = {}
    with tarfile.open(archive_path, "r:gz") as archive:
        for part, members in (("train", train), ("test", test)):
            # These files are pickles of Python 2: their source has to be trusted.
            batches = [pickle.load(archive.extractfile(member), encoding="latin-1") for member in members]
            arrays[f"{part}_x"] = numpy.concatenate([b["data"] for b in batches]).reshape(-1, 3072)
            arrays[f"{part}_y"] = numpy.concatenate([b[key] for b in batches]).astype(numpy.uint8)
    numpy.savez_compressed(path, **arrays)
    return arrays


def _preprocess_cifar(images, labels, withlabel, ndim, scale, dtype):
    if ndim == 1:
        images = images.reshape(-1, 3072)
    elif ndim == 3:
        images = images.reshape(-1, 3, 32, 32)
    else:
        raise ValueError(f"invalid ndim for CIFAR dataset: {ndim}. Expected 1 or 3")
    images = images.astype(get_dtype(dtype))
    images *= scale / 255.0
    return tuple_dataset.TupleDataset(images, labels.astype(numpy.int32)) if withlabel else images
