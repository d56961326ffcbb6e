"""Fashion-MNIST."""

from __future__ import annotations

import numpy  # noqa: F401  programs find it here, as in Chainer

from compatgrad.chainer.datasets import _mnist_helper

_LABELS = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")


def get_fashion_mnist_labels() -> list[str]:
    """The names of the classes of Fashion-MNIST.

    Returns:
        Ten names.

    Example:
        >>> chainer.datasets.get_fashion_mnist_labels()[:3]
        ['T-shirt/top', 'Trouser', 'Pullover']

    Source: `chainer.datasets.get_fashion_mnist_labels` of Chainer 7.8.1.
    """
    return list(_LABELS)


get_fashion_mnist = _mnist_helper.getter(
    "get_fashion_mnist",
    __name__,
    "pfnet/chainer/fashion-mnist",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    page="the page of zalandoresearch/fashion-mnist",
    what="Fashion-MNIST, 60,000 and 10,000 images of clothes",
)
