"""Handwritten digits that come with scikit-learn: 1,797 images of 8x8 pixels."""

import numpy as np
from mxnet import gluon
from sklearn.datasets import load_digits

N_TRAIN = 1500


def arrays(train=True):
    """Images (N, 1, 8, 8) in [0, 1] and labels (N,)."""
    data = load_digits()
    x = (data.images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    t = data.target.astype(np.float32)
    return (x[:N_TRAIN], t[:N_TRAIN]) if train else (x[N_TRAIN:], t[N_TRAIN:])


def loader(batch_size, train=True):
    """The batches of one epoch: training images in a random order, test images in their own order."""
    dataset = gluon.data.ArrayDataset(*arrays(train))
    if train:
        return gluon.data.DataLoader(dataset, batch_size, shuffle=True, last_batch="discard")
    return gluon.data.DataLoader(dataset, batch_size, last_batch="keep")


def forever(batches):
    """Yield the batches of one epoch after another, without end."""
    while True:
        for batch in batches:
            yield batch


def show(images):
    """Draw some images (N, 1, 8, 8) in the terminal."""
    images = images.asnumpy()[:, 0]
    for row in range(images.shape[1]):
        print("  ".join("".join(" .:-=+*#%@"[min(int(p * 10), 9)] for p in image[row]) for image in images))
