"""CIFAR-10 and CIFAR-100."""

import os
import pickle
import tarfile

import numpy

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import download
from compatgrad.chainer.datasets import tuple_dataset

# Archive members of the training and the test set, and the key of the labels in them.
_CONTENTS = {
    "cifar-10": (
        [f"cifar-10-batches-py/data_batch_{i}" for i in range(1, 6)],
        ["cifar-10-batches-py/test_batch"],
        "labels",
    ),
    "cifar-100": (["cifar-100-python/train"], ["cifar-100-python/test"], "fine_labels"),
}


def get_cifar10(withlabel=True, ndim=3, scale=1.0, dtype=None):
    """Return the training and the test set of CIFAR-10.

    `withlabel`: `TupleDataset` of images and labels (int32), else arrays of images. `ndim`: shape of an
    image is (3072,) or (3, 32, 32). `scale`: the largest value. Source: www.cs.toronto.edu/~kriz, cached in
    ``<dataset root>/pfnet/chainer/cifar``. Raises OSError where the download fails.
    """
    return _get_cifar("cifar-10", withlabel, ndim, scale, dtype)


def get_cifar100(withlabel=True, ndim=3, scale=1.0, dtype=None):
    """Return the training and the test set of CIFAR-100 with its fine labels; see `get_cifar10`."""
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
