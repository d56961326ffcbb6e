#!/usr/bin/env python
"""A classifier that generalizes to images of another kind than its training images, by domain-adversarial training
(Ganin and Lempitsky, "Unsupervised Domain Adaptation by Backpropagation").

Labels are known only for clear images, not for dim and noisy ones. A second classifier learns to distinguish the two
kinds of images. Its gradient reaches the features with its sign reversed, so that these learn to make the distinction
hard. The reversal and the loss are user-defined operators; the loss is computed by numpy.
"""

import logging

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

import digits
import options


class ReverseGradient(autograd.Function):
    """The identity with a reversed gradient."""

    def __init__(self, strength):
        super(ReverseGradient, self).__init__()
        self.strength = strength

    def forward(self, x):
        return x.copy()

    def backward(self, dy):
        return -self.strength * dy


class LogisticLoss(autograd.Function):
    """Binary cross entropy of scores, and their accuracy."""

    def forward(self, score, label):
        s, t = score.asnumpy(), label.asnumpy()
        probability = 0.5 * (np.tanh(0.5 * s) + 1)
        self.save_for_backward(label, nd.array(probability, ctx=score.context))
        loss = np.maximum(s, 0) - s * t + np.log1p(np.exp(-np.abs(s)))
        right = ((s > 0) == (t > 0.5)).astype(s.dtype)
        return nd.array(loss, ctx=score.context), nd.array(right, ctx=score.context)

    def backward(self, d_loss, d_right):
        label, probability = self.saved_tensors
        return d_loss * (probability - label), nd.zeros_like(label)


class Network(gluon.Block):
    def __init__(self, units, **kwargs):
        super(Network, self).__init__(**kwargs)
        with self.name_scope():
            self.features = nn.Sequential(prefix="features_")
            with self.features.name_scope():
                self.features.add(nn.Conv2D(units // 4, 3, activation="relu"), nn.AvgPool2D(2), nn.Flatten())
                self.features.add(nn.Dense(units, activation="tanh"))
            self.digit = nn.Dense(10, prefix="digit_")
            self.domain = nn.Sequential(prefix="domain_")
            with self.domain.name_scope():
                self.domain.add(nn.Dense(units, activation="tanh"), nn.Dense(1))

    def forward(self, x, strength=0.0):
        features = self.features(x)
        return self.digit(features), self.domain(ReverseGradient(strength)(features))


def other_domain(x, rng):
    """Images that are dim, noisy and shifted to the right by one pixel."""
    return (0.6 * np.roll(x, 1, axis=3) + 0.3 * rng.uniform(size=x.shape)).astype(np.float32)


def evaluate(net, images, labels, ctx):
    output, _ = net(nd.array(images, ctx=ctx))
    predicted = output.argmax(axis=1).asnumpy()
    return (predicted == labels).mean()


def main():
    p = options.parser("Domain adaptation on the digits of scikit-learn", steps=900, batch_size=32, lr=0.003)
    p.add_argument("--units", "-u", type=int, default=64, help="hidden units of a layer")
    p.add_argument("--strength", type=float, default=1.0, help="final factor of the reversed gradient")
    args = p.parse_args()
    ctx = options.start(args)
    rng = np.random.RandomState(args.seed)

    source, labels = digits.arrays()
    target = other_domain(source, rng)
    test_source, test_labels = digits.arrays(train=False)
    test_target = other_domain(test_source, rng)

    net = Network(args.units, prefix="dann_")
    options.initialize(net, mx.init.Xavier(magnitude=2), args, ctx)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    domain = nd.concat(nd.zeros((args.batch_size, 1), ctx=ctx), nd.ones((args.batch_size, 1), ctx=ctx), dim=0)

    curve = options.Curve(args)
    for i in range(args.steps):
        one = rng.randint(0, len(source), args.batch_size)
        other = rng.randint(0, len(target), args.batch_size)
        data = nd.array(np.concatenate([source[one], target[other]]), ctx=ctx)
        label = nd.array(labels[one], ctx=ctx)
        # The factor of the reversed gradient grows, because this gradient is noise at first.
        strength = args.strength * (2 / (1 + np.exp(-10.0 * i / args.steps)) - 1)
        with autograd.record():
            digit_scores, domain_scores = net(data, strength)
            digit_loss = cross_entropy(digit_scores[: args.batch_size], label)
            domain_loss, right = LogisticLoss()(domain_scores, domain)
            loss = digit_loss.mean() + domain_loss.mean()
        loss.backward()
        trainer.step(1)
        curve.add(digit=digit_loss.mean(), domain=domain_loss.mean(), told_apart=right.mean())
    logging.info(
        "test: accuracy %.4f, of the other images %.4f",
        evaluate(net, test_source, test_labels, ctx),
        evaluate(net, test_target, test_labels, ctx),
    )
    curve.finish(net)


if __name__ == "__main__":
    main()
