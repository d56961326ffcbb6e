"""Virtual adversarial training of the convolutional network, with its losses, on random images; Chainer 1."""

import types

import _chainer
import _chainer1
import chainer
import numpy as np


def train(run):
    _chainer1.install()
    run.path()
    run.sources(
        # newer scikit-learn lacks it, and it is unused
        lambda text: text.replace("from sklearn.datasets import fetch_mldata", ""),
        lambda text: text.replace("range(1, len(d.shape))", "tuple(range(1, len(d.shape)))"),
    )  # NumPy needs a tuple of axes
    import models.cnn
    import train_semisup
    from source.data import Data

    models.cnn.L = _chainer.Narrow(8)

    rng = np.random.RandomState(1)

    def data(n):
        return Data(rng.normal(size=(n, 3, 12, 12)).astype(run.dtype), rng.randint(0, 10, n).astype("i"))

    def training(method):
        labeled, unlabeled = data(16), data(32)
        model = models.cnn.CNN(dropout_rate=0.5, top_bn=True)
        run.perturb(_chainer.arrays(model))
        optimizer = chainer.optimizers.Adam(alpha=0.001, beta1=0.9).setup(model)
        options = types.SimpleNamespace(method=method, epsilon=8.0)
        while True:
            x, t = labeled.get(4, aug_trans=True, aug_flip=True)
            loss_l = train_semisup.loss_labeled(model, chainer.Variable(x), chainer.Variable(t))
            x, _ = unlabeled.get(4, aug_trans=True, aug_flip=True)
            loss_ul = train_semisup.loss_unlabeled(model, chainer.Variable(x), options)
            model.cleargrads()
            (loss_l + loss_ul).backward()
            optimizer.update()
            yield {"labeled": loss_l.array, "unlabeled": loss_ul.array}

    yield from run.together(vat=training("vat"), vatent=training("vatent"))
