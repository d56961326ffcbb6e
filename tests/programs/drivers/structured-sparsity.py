"""Structured sparsity: ResNet-23 with weight decay of filters and channels, then pruned by its masks and fine-tuned."""

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    import models

    rng = np.random.RandomState(1)
    image, label = nn.Variable((2, 3, 32, 32)), nn.Variable((2, 1))

    def feed():
        image.d, label.d = _nnabla.images(rng, image.shape), rng.randint(0, 10, label.shape)

    def training(predict, pruned):
        nn.seed(0)
        with _nnabla.building(run, predict.__name__):
            y = predict(image + 0, maps=8, test=False)
            loss = F.mean(F.softmax_cross_entropy(y, label))
            if pruned:
                models.create_and_set_mask(nn.get_parameters(grad_only=False), rrate=0.5)
            else:
                loss += models.ssl_regularization(nn.get_parameters(), 0.01, 0.01)
            solver = S.Adam(0.001)
            solver.set_parameters(nn.get_parameters())
        yield from _nnabla.training(loss, solver, feed, 1e-4, y=y)

    yield from run.together(
        decayed=training(models.cifar10_resnet23_prediction, False),
        pruned=training(models.cifar10_resnet23_slim_prediction, True),
    )
