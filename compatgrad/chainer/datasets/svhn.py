"""Street View House Numbers."""

from __future__ import annotations

import os
from typing import Any

import numpy

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import download
from compatgrad.chainer.datasets import tuple_dataset


def get_svhn(
    withlabel: bool = True,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    add_extra: bool = False,
) -> tuple[Any, ...]:
    """The training and the test set of SVHN, 73,257 and 26,032 photographs of house numbers' digits. The first call
    downloads them from ufldl.stanford.edu/housenumbers; `get_dataset_root()/pfnet/chainer/svhn` keeps them.

    Args:
        withlabel: True gives datasets of pairs of an image and a label, False arrays of images.
        scale: the largest value.
        dtype: dtype of the images; None is `config.dtype`.
        label_dtype: dtype of the labels.
        add_extra: True gives the 531,131 extra images for training as a third set.

    Returns:
        The sets, `TupleDataset` or arrays; images have shape (3, 32, 32).

    Raises:
        OSError: the download fails.
        RuntimeError: SciPy, which reads the downloaded files, is not installed.

    Example:
        train, test = chainer.datasets.get_svhn()
        image, label = train[0]  # an array of shape (3, 32, 32) and a number

    Source: `chainer.datasets.get_svhn` of Chainer 7.8.1.
    """
    dtype = get_dtype(dtype)
    names = ("train", "test", "extra") if add_extra else ("train", "test")
    return tuple([_preprocess_svhn(_retrieve_svhn(name), withlabel, scale, dtype, label_dtype) for name in names])


def _preprocess_svhn(raw, withlabel, scale, image_dtype, label_dtype):
    images = raw["x"].transpose(3, 2, 0, 1).astype(image_dtype)
    images *= scale / 255.0
    labels = raw["y"].astype(label_dtype).flatten()
    labels[labels == 10] = 0  # the files count the digits from 1
    return tuple_dataset.TupleDataset(images, labels) if withlabel else images


def _retrieve_svhn(name):
    root = download.get_dataset_directory("pfnet/chainer/svhn")
    return download.cache_or_load_file(
        os.path.join(root, f"{name}.npz"), lambda path: _make_npz(path, name), numpy.load
    )


def _make_npz(path, name):
    try:
        from scipy import io
    except ImportError as e:
        raise RuntimeError(f"SciPy is not available: {e}") from e
    raw = io.loadmat(download.cached_download(f"http://ufldl.stanford.edu/housenumbers/{name}_32x32.mat"))
    arrays = {"x": raw["X"].astype(numpy.uint8), "y": raw["y"].astype(numpy.uint8)}
    numpy.savez_compressed(path, **arrays)
    return arrays
