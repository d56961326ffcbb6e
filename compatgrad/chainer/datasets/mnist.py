"""MNIST."""

import numpy

from compatgrad.chainer.datasets import _mnist_helper


def get_mnist(withlabel=True, ndim=1, scale=1.0, dtype=None, label_dtype=numpy.int32, rgb_format=False):
    """Return the training and the test set of MNIST.

    `withlabel`: `TupleDataset` of images and labels, else arrays of images. `ndim`: shape of an image is
    (784,), (28, 28) or (1, 28, 28), with `rgb_format` (3, 28, 28). `scale`: value of white. Source:
    yann.lecun.com/exdb/mnist, cached in ``<dataset root>/pfnet/chainer/mnist``. Raises OSError where the
    download fails.
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
