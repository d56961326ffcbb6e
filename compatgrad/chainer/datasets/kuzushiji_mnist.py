"""Kuzushiji-MNIST."""

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


def get_kuzushiji_mnist_labels():
    """The ten labels as pairs of a romanised name and the character."""
    return list(_LABELS)


def get_kuzushiji_mnist(withlabel=True, ndim=1, scale=1.0, dtype=None, label_dtype=numpy.int32, rgb_format=False):
    """Return the training and the test set of codh.rois.ac.jp/kmnist; see `get_mnist`."""
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
