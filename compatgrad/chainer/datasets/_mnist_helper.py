"""Shared code of the datasets in MNIST's format."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import download
from compatgrad.chainer.datasets import tuple_dataset
from compatgrad.formats import idx

_FILES = {
    "train.npz": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test.npz": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}


_DOC = """The training and the test set of {what}.

    The first call downloads them from {page}; `get_dataset_root()/{folder}` keeps them.

    Args:
        withlabel: True gives datasets of pairs of an image and a label, False arrays of images.
        ndim: 1 for images of shape (784,), 2 for (28, 28), 3 for (1, 28, 28).
        scale: value of white; black is 0.
        dtype: dtype of the images; None is `config.dtype`.
        label_dtype: dtype of the labels.
        rgb_format: True gives images of shape (3, 28, 28) where `ndim` is 3.

    Returns:
        Both sets, `TupleDataset` or arrays.

    Raises:
        OSError: the download fails.
        ValueError: `ndim` is not 1, 2 or 3.

    Example:
        train, test = chainer.datasets.{name}(ndim=3)
        image, label = train[0]  # an array of shape (1, 28, 28) and a number

    Source: `chainer.datasets.{name}` of Chainer 7.8.1.
    """


def getter(name: str, module: str, folder: str, url: str, page: str, what: str) -> Callable[..., tuple[Any, Any]]:
    """Makes the public function `name` of `module`. The function downloads the training and the test set from below
    `url` and caches them as npz files in `folder`. Its docstring names the source as `page` and describes the sets as
    `what`.
    """

    def get(
        withlabel: bool = True,
        ndim: int = 1,
        scale: float = 1.0,
        dtype: Any = None,
        label_dtype: Any = np.int32,
        rgb_format: bool = False,
    ) -> tuple[Any, Any]:
        dtype = get_dtype(dtype)
        root = download.get_dataset_directory(folder)

        def read(file: str, sources: tuple[str, str]) -> Any:
            urls = [url + source for source in sources]
            raw = download.cache_or_load_file(os.path.join(root, file), lambda path: make_npz(path, urls), np.load)
            return preprocess_mnist(raw, withlabel, ndim, scale, dtype, label_dtype, rgb_format)

        train, test = (read(file, sources) for file, sources in _FILES.items())
        return train, test

    get.__name__ = get.__qualname__ = name
    get.__module__ = module
    get.__doc__ = _DOC.format(name=name, folder=folder, page=page, what=what)
    return get


def make_npz(path, urls):
    """Download images and labels and save them in one file. Returns ``{'x': images, 'y': labels}``, uint8."""
    x, y = idx.read(download.cached_download(urls[0]), 3), idx.read(download.cached_download(urls[1]), 1)
    x = x.reshape(len(x), x.shape[1] * x.shape[2])
    if len(x) != len(y):
        raise RuntimeError("wrong pair of MNIST images and labels")
    np.savez_compressed(path, x=x, y=y)
    return {"x": x, "y": y}


def preprocess_mnist(raw, withlabel, ndim, scale, image_dtype, label_dtype, rgb_format):
    """Shape and scale images of bytes to [0, scale]; see `get_mnist`."""
    images = raw["x"]
    if ndim == 2:
        images = images.reshape(-1, 28, 28)
    elif ndim == 3:
        images = images.reshape(-1, 1, 28, 28)
        if rgb_format:
            images = np.broadcast_to(images, (len(images), 3, 28, 28))
    elif ndim != 1:
        raise ValueError(f"invalid ndim for MNIST dataset: {ndim}. Expected 1, 2 or 3")
    images = images.astype(image_dtype)
    images *= scale / 255.0
    return tuple_dataset.TupleDataset(images, raw["y"].astype(label_dtype)) if withlabel else images
