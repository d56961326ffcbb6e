"""Fashion-MNIST."""

import numpy

from compatgrad.chainer.datasets import _mnist_helper

_LABELS = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")


def get_fashion_mnist_labels():
    """Names of the ten labels."""
    return list(_LABELS)


def get_fashion_mnist(withlabel=True, ndim=1, scale=1.0, dtype=None, label_dtype=numpy.int32, rgb_format=False):
    """Return the training and the test set of zalandoresearch/fashion-mnist; see `get_mnist`."""
    return _mnist_helper.get_datasets(
        "pfnet/chainer/fashion-mnist",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        numpy.load,
        withlabel,
        ndim,
        scale,
        dtype,
        label_dtype,
        rgb_format,
    )
