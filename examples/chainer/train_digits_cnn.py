#!/usr/bin/env python
"""Convolutional network with batch normalization on handwritten digits."""

import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import initializers
from chainer import optimizers
from chainer import serializers

import digits
from losslog import LossLog


class ConvBN(chainer.Chain):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        w = initializers.HeNormal()
        with self.init_scope():
            # The normalization would remove a bias.
            self.conv = L.Convolution2D(in_channels, out_channels, 3, pad=1, nobias=True, initialW=w)
            self.bn = L.BatchNormalization(out_channels)

    def forward(self, x):
        return F.elu(self.bn(self.conv(x)))


class CNN(chainer.Chain):
    def __init__(self, width, n_out):
        super().__init__()
        with self.init_scope():
            self.conv1 = ConvBN(1, width)
            self.conv2 = ConvBN(width, 2 * width)
            self.conv3 = ConvBN(2 * width, 2 * width)
            self.fc = L.Linear(None, n_out)

    def forward(self, x):
        h = F.max_pooling_2d(self.conv1(x), 2)
        h = self.conv2(h)
        h = F.average_pooling_2d(self.conv3(h) + h, 2)
        return self.fc(h)


def evaluate(model, x, t):
    with chainer.using_config("train", False), chainer.using_config("enable_backprop", False):
        y = model(x)
        return float(F.softmax_cross_entropy(y, t).array), float(F.accuracy(y, t).array)


def main():
    parser = argparse.ArgumentParser(description="Convolutional network on the digits of scikit-learn")
    parser.add_argument("--batchsize", "-b", type=int, default=50, help="number of images in a mini-batch")
    parser.add_argument("--epoch", "-e", type=int, default=10, help="number of epochs")
    parser.add_argument("--width", "-w", type=int, default=16, help="channels of the first layer")
    parser.add_argument("--lr", type=float, default=0.01, help="learning rate")
    parser.add_argument("--lr-drop", type=int, default=5, help="epochs after which the learning rate drops to a tenth")
    parser.add_argument("--seed", "-s", type=int, default=0, help="random seed")
    parser.add_argument("--out", "-o", help="write the loss of every iteration to this JSON file")
    parser.add_argument("--model", "-m", help="save the trained model to this npz file")
    args = parser.parse_args()

    np.random.seed(args.seed)
    (x_train, t_train), (x_test, t_test) = digits.load(ndim=3)

    model = CNN(args.width, 10)
    optimizer = optimizers.MomentumSGD(lr=args.lr, momentum=0.9)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(5e-4))

    def lossfun(x, t):
        y = model(x)
        loss = F.softmax_cross_entropy(y, t)
        log.add(loss=loss.array, accuracy=F.accuracy(y, t).array)
        return loss

    log = LossLog(("loss", "accuracy", "test loss", "test"))
    for epoch in range(1, args.epoch + 1):
        for index in digits.minibatches(len(x_train), args.batchsize):
            optimizer.update(lossfun, x_train[index], t_train[index])
        test_loss, accuracy = evaluate(model, x_test, t_test)
        log.show(len(x_train) // args.batchsize, **{"test loss": test_loss, "test": accuracy})
        if epoch % args.lr_drop == 0:
            optimizer.lr *= 0.1

    if args.out:
        log.save(args.out)
    if args.model:
        serializers.save_npz(args.model, model)


if __name__ == "__main__":
    main()
