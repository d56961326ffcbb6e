"""Handwritten digits that come with scikit-learn: 1,797 images of 8x8 pixels."""

import numpy as np
from nnabla.utils.data_iterator import data_iterator_simple
from sklearn.datasets import load_digits

N_TRAIN = 1500


def load(train=True):
    """Return images (N, 1, 8, 8) in [0, 1] and labels (N, 1)."""
    data = load_digits()
    x = (data.data / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    t = data.target.astype(np.int32).reshape(-1, 1)
    return (x[:N_TRAIN], t[:N_TRAIN]) if train else (x[N_TRAIN:], t[N_TRAIN:])


def data_iterator(batch_size, train=True, shuffle=True, rng=None):
    """Iterate over (images, labels) without end, in a new order in every epoch."""
    x, t = load(train)

    def load_func(i):
        return x[i], t[i]

    return data_iterator_simple(load_func, len(x), batch_size, shuffle=shuffle, rng=rng, with_file_cache=False)
