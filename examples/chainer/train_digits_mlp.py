#!/usr/bin/env python
"""Multilayer perceptron on handwritten digits, with a hand-written training loop."""

import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import optimizers
from chainer import serializers

import digits
from losslog import LossLog


class MLP(chainer.Chain):
    def __init__(self, n_units, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)
            self.l2 = L.Linear(None, n_units)
            self.l3 = L.Linear(None, n_out)

    def forward(self, x):
        h = F.relu(self.l1(x))
        h = F.dropout(F.relu(self.l2(h)), 0.2)
        return self.l3(h)


def evaluate(model, x, t):
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return float(F.accuracy(model(x), t).array)


def main():
    parser = argparse.ArgumentParser(description="MLP on the digits of scikit-learn")
    parser.add_argument("--batchsize", "-b", type=int, default=50, help="number of images in a mini-batch")
    parser.add_argument("--epoch", "-e", type=int, default=20, help="number of epochs")
    parser.add_argument("--unit", "-u", type=int, default=100, help="number of hidden units")
    parser.add_argument("--lr", type=float, default=0.001, help="learning rate of Adam")
    parser.add_argument("--decay", type=float, default=1e-4, help="weight decay")
    parser.add_argument("--seed", "-s", type=int, default=0, help="random seed")
    parser.add_argument("--out", "-o", help="write the loss of every iteration to this JSON file")
    parser.add_argument("--model", "-m", help="save the trained model to this npz file")
    args = parser.parse_args()

    np.random.seed(args.seed)
    (x_train, t_train), (x_test, t_test) = digits.load()

    model = MLP(args.unit, 10)
    optimizer = optimizers.Adam(alpha=args.lr)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(args.decay))

    log = LossLog(("loss", "accuracy", "test"))
    for _ in range(args.epoch):
        for index in digits.minibatches(len(x_train), args.batchsize):
            x = chainer.Variable(x_train[index])
            t = chainer.Variable(t_train[index])
            y = model(x)
            loss = F.softmax_cross_entropy(y, t)
            model.cleargrads()
            loss.backward()
            optimizer.update()
            log.add(loss=loss.array, accuracy=F.accuracy(y, t).array)
        log.show(len(x_train) // args.batchsize, test=evaluate(model, x_test, t_test))

    if args.out:
        log.save(args.out)
    if args.model:
        serializers.save_npz(args.model, model)


if __name__ == "__main__":
    main()
