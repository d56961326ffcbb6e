"""Memory of a training step of the convolutional example in Chainer, with all training images as one batch."""

import pathlib
import sys

import chainer
import chainer.functions as F
import numpy as np

from tests.benchmarks import memory

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "chainer"))
import digits
from train_digits_cnn import CNN

if __name__ == "__main__":
    np.random.seed(0)
    (x, t), _ = digits.load(ndim=3)
    model = CNN(16, 10)
    optimizer = chainer.optimizers.MomentumSGD(lr=0.01, momentum=0.9)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(5e-4))
    memory.report(lambda: optimizer.update(lambda: F.softmax_cross_entropy(model(x), t)))
