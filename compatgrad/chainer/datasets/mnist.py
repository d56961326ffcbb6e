"""MNIST."""

from __future__ import annotations

import numpy  # noqa: F401  programs find it here, as in Chainer

from compatgrad.chainer.datasets import _mnist_helper

get_mnist = _mnist_helper.getter(
    "get_mnist",
    __name__,
    "pfnet/chainer/mnist",
    "http://yann.lecun.com/exdb/mnist/",
    page="yann.lecun.com/exdb/mnist",
    what="MNIST, 60,000 and 10,000 images of handwritten digits",
)
