"""Handwritten digits that come with scikit-learn: 1,797 images of 8x8 pixels."""

import numpy as np
from sklearn.datasets import load_digits

N_TRAIN = 1500


def load(ndim=1, dtype=np.float32):
    """Return ((x, t), (x, t)) for training and testing; pixels are in [0, 1]."""
    data = load_digits()
    x = (data.data / 16).astype(dtype)
    if ndim == 3:
        x = x.reshape(-1, 1, 8, 8)
    t = data.target.astype(np.int32)
    return (x[:N_TRAIN], t[:N_TRAIN]), (x[N_TRAIN:], t[N_TRAIN:])


def minibatches(n, batchsize):
    """Yield the indices of one epoch in a random order, without a short last batch."""
    order = np.random.permutation(n)
    for i in range(0, n - batchsize + 1, batchsize):
        yield order[i : i + batchsize]
