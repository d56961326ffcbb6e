"""Kuzushiji-MNIST."""
import numpy

from compatgrad.chainer.datasets import _mnist_helper

_LABELS = (("o", "\u304A"), ("ki", "\u304D"), ("su", "\u3059"), ("tsu", "\u3064"), ("na", "\u306A"),
           ("ha", "\u306F"), ("ma", "\u307E"), ("ya", "\u3084"), ("re", "\u308C"), ("wo", "\u3092"))


def get_kuzushiji_mnist_labels():
    """The ten labels as pairs of a romanised name and the character."""
    return list(_LABELS)


def get_kuzushiji_mnist(withlabel=True, ndim=1, scale=1., dtype=None, label_dtype=numpy.int32,
                        rgb_format=False):
    """Return the training and the test set of codh.rois.ac.jp/kmnist; see `get_mnist`."""
    return _mnist_helper.get_datasets(
        "pfnet/chainer/kuzushiji_mnist", "http://codh.rois.ac.jp/kmnist/dataset/kmnist/", numpy.load,
        withlabel, ndim, scale, dtype, label_dtype, rgb_format)
