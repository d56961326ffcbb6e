"""What the datasets in the format of MNIST share."""

import os

import numpy as np

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import download
from compatgrad.chainer.datasets import tuple_dataset
from compatgrad.formats import idx

_FILES = {
    "train.npz": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test.npz": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}


def get_datasets(directory, base_url, load, withlabel, ndim, scale, dtype, label_dtype, rgb_format):
    """Return the training and the test set below `base_url`, cached as npz files in `directory`."""
    dtype = get_dtype(dtype)
    root = download.get_dataset_directory(directory)
    datasets = []
    for name, files in _FILES.items():
        urls = [base_url + file for file in files]
        raw = download.cache_or_load_file(os.path.join(root, name), lambda path, urls=urls: make_npz(path, urls), load)
        datasets.append(preprocess_mnist(raw, withlabel, ndim, scale, dtype, label_dtype, rgb_format))
    return tuple(datasets)


def make_npz(path, urls):
    """Download images and labels and save them as one file. Returns ``{'x': images, 'y': labels}``, uint8."""
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
