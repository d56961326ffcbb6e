"""MNIST."""

from __future__ import annotations

from typing import Any

import numpy

from compatgrad.chainer.datasets import _mnist_helper


def get_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """The training and the test set of MNIST, 60,000 and 10,000 images of handwritten digits. At first it downloads
    them from yann.lecun.com/exdb/mnist; `get_dataset_root()/pfnet/chainer/mnist` keeps them.

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
        ValueError: `ndim` is another one.

    Example:
        train, test = chainer.datasets.get_mnist()
        image, label = train[0]  # an array of shape (784,) and a number

    Source: `chainer.datasets.get_mnist` of Chainer 7.8.1.
    """
    return _mnist_helper.get_datasets(
        "pfnet/chainer/mnist",
        "http://yann.lecun.com/exdb/mnist/",
        numpy.load,
        withlabel,
        ndim,
        scale,
        dtype,
        label_dtype,
        rgb_format,
    )
