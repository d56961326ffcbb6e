"""Kuzushiji-MNIST."""

from __future__ import annotations

from typing import Any

import numpy

from compatgrad.chainer.datasets import _mnist_helper

_LABELS = (
    ("o", "\u304a"),
    ("ki", "\u304d"),
    ("su", "\u3059"),
    ("tsu", "\u3064"),
    ("na", "\u306a"),
    ("ha", "\u306f"),
    ("ma", "\u307e"),
    ("ya", "\u3084"),
    ("re", "\u308c"),
    ("wo", "\u3092"),
)


def get_kuzushiji_mnist_labels() -> list[tuple[str, str]]:
    """The classes of Kuzushiji-MNIST.

    Returns:
        Ten pairs of a romanised name and the character.

    Example:
        >>> chainer.datasets.get_kuzushiji_mnist_labels()[0]
        ('o', 'お')

    Source: `chainer.datasets.get_kuzushiji_mnist_labels` of Chainer 7.8.1.
    """
    return list(_LABELS)


def get_kuzushiji_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """The training and the test set of Kuzushiji-MNIST, 60,000 and 10,000 images of handwritten Japanese characters. At
    first it downloads them from codh.rois.ac.jp/kmnist; `get_dataset_root()/pfnet/chainer/kuzushiji_mnist` keeps them.

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
        train, test = chainer.datasets.get_kuzushiji_mnist()
        image, label = train[0]  # an array of shape (784,) and a number

    Source: `chainer.datasets.get_kuzushiji_mnist` of Chainer 7.8.1.
    """
    return _mnist_helper.get_datasets(
        "pfnet/chainer/kuzushiji_mnist",
        "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
        numpy.load,
        withlabel,
        ndim,
        scale,
        dtype,
        label_dtype,
        rgb_format,
    )
