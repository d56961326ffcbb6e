"""Street View House Numbers."""

import os

import numpy

from compatgrad.chainer.configuration import get_dtype
from compatgrad.chainer.dataset import download
from compatgrad.chainer.datasets import tuple_dataset


def get_svhn(withlabel=True, scale=1.0, dtype=None, label_dtype=numpy.int32, add_extra=False):
    """Return the training and the test set of SVHN, and with `add_extra` the extra training set.

    `withlabel`: `TupleDataset` of images (3, 32, 32) and labels, else arrays of images. `scale`: the
    largest value. Source: ufldl.stanford.edu/housenumbers, cached in ``<dataset root>/pfnet/chainer/svhn``.
    Raises RuntimeError where SciPy is needed and missing, OSError where the download fails.
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
