#!/usr/bin/env python
"""Multilayer perceptron on handwritten digits: a Gluon classifier."""

import logging

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn

import digits
import options


def build(args):
    net = nn.HybridSequential(prefix="mlp_")
    with net.name_scope():
        net.add(nn.Flatten())
        net.add(nn.Dense(args.units, activation="relu"))
        net.add(nn.Dense(args.units, activation="relu"))
        if args.dropout > 0:
            net.add(nn.Dropout(args.dropout))
        net.add(nn.Dense(10))
    return net


def evaluate(net, batches, ctx):
    accuracy = mx.metric.Accuracy()
    cross_entropy = mx.metric.Loss()
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    for data, label in batches:
        data, label = data.as_in_context(ctx), label.as_in_context(ctx)
        output = net(data)
        accuracy.update([label], [output])
        cross_entropy.update(None, loss_fn(output, label))
    return accuracy.get()[1], cross_entropy.get()[1]


def main():
    p = options.parser("Multilayer perceptron on the digits of scikit-learn", steps=600, batch_size=50, lr=0.002)
    p.add_argument("--units", "-u", type=int, default=100, help="hidden units of a layer")
    p.add_argument("--dropout", type=float, default=0.2, help="share of the hidden units that are dropped")
    p.add_argument("--wd", type=float, default=1e-4, help="weight decay")
    args = p.parse_args()
    ctx = options.start(args)

    net = build(args)
    options.initialize(net, mx.init.Xavier(), args, ctx)
    net.hybridize()
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr, "wd": args.wd})

    test_batches = digits.loader(99, train=False)
    train_batches = digits.forever(digits.loader(args.batch_size))
    metric = mx.metric.Accuracy()
    curve = options.Curve(args)
    for i in range(args.steps):
        data, label = next(train_batches)
        data, label = data.as_in_context(ctx), label.as_in_context(ctx)
        with autograd.record():
            output = net(data)
            loss = loss_fn(output, label)
        loss.backward()
        trainer.step(args.batch_size)
        metric.update([label], [output])
        curve.add(loss=loss.mean())
        if (i + 1) % args.log_interval == 0:
            name, value = metric.get()
            logging.info("    training: %s %.4f", name, value)
            metric.reset()
    logging.info("test: accuracy %.4f, cross entropy %.4f", *evaluate(net, test_batches, ctx))
    curve.finish(net)


if __name__ == "__main__":
    main()
