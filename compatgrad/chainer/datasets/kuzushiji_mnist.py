"""Kuzushiji-MNIST."""

from __future__ import annotations

import numpy  # noqa: F401  programs find it here, as in Chainer

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


get_kuzushiji_mnist = _mnist_helper.getter(
    "get_kuzushiji_mnist",
    __name__,
    "pfnet/chainer/kuzushiji_mnist",
    "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
    page="codh.rois.ac.jp/kmnist",
    what="Kuzushiji-MNIST, 60,000 and 10,000 images of handwritten Japanese characters",
)
