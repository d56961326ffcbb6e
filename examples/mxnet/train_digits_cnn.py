#!/usr/bin/env python
"""A small residual network with batch normalization on handwritten digits, on one or more devices."""

import logging

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn

import digits
import options


class ConvBN(nn.HybridSequential):
    """Convolution, batch normalization and activation."""

    def __init__(self, channels, activation=True, **kwargs):
        super(ConvBN, self).__init__(**kwargs)
        with self.name_scope():
            # The normalization would remove a bias.
            self.add(nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False))
            self.add(nn.BatchNorm(momentum=0.9))
            if activation:
                self.add(nn.Activation("relu"))


class Residual(nn.HybridBlock):
    def __init__(self, channels, **kwargs):
        super(Residual, self).__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            self.body.add(ConvBN(channels), ConvBN(channels, activation=False))
            self.slope = self.params.get("slope", shape=(1, channels, 1, 1), init=mx.init.Constant(0.1))

    def hybrid_forward(self, F, x, slope):
        y = self.body(x) + x
        return F.maximum(y, 0) + F.broadcast_mul(slope, F.minimum(y, 0))


class ResNet(nn.HybridBlock):
    def __init__(self, width, classes, **kwargs):
        super(ResNet, self).__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                self.features.add(ConvBN(width))
                self.features.add(Residual(width))
                self.features.add(nn.MaxPool2D(pool_size=2, strides=2))
                self.features.add(ConvBN(2 * width))
                self.features.add(Residual(2 * width))
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


def evaluate(net, batches, ctx):
    metric = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.TopKAccuracy(3)])
    for batch in batches:
        data = gluon.utils.split_and_load(batch[0], ctx, even_split=False)
        label = gluon.utils.split_and_load(batch[1], ctx, even_split=False)
        metric.update(label, [net(x) for x in data])
    return ", ".join("%s %.4f" % pair for pair in zip(*metric.get()))


def main():
    p = options.parser("Residual network on the digits of scikit-learn", steps=300, batch_size=50, lr=0.05)
    p.add_argument("--width", "-w", type=int, default=16, help="channels of the first layers")
    p.add_argument("--wd", type=float, default=5e-4, help="weight decay")
    p.add_argument("--decay-at", type=int, nargs="*", default=[200], help="updates at which the rate drops to a tenth")
    p.add_argument("--devices", type=int, default=1, help="number of CPUs or GPUs that share a batch")
    args = p.parse_args()
    first = options.start(args)
    ctx = [mx.Context(first.device_type, first.device_id + i) for i in range(args.devices)]

    net = ResNet(args.width, 10, prefix="resnet_")
    options.initialize(net, mx.init.MSRAPrelu(), args, ctx)
    net.hybridize(static_alloc=True)
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    schedule = mx.lr_scheduler.MultiFactorScheduler(args.decay_at, 0.1, base_lr=args.lr) if args.decay_at else None
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": args.lr, "momentum": 0.9, "wd": args.wd, "lr_scheduler": schedule},
    )

    test_batches = digits.loader(99, train=False)
    train_batches = digits.forever(digits.loader(args.batch_size))
    curve = options.Curve(args)
    for _ in range(args.steps):
        batch = next(train_batches)
        data = gluon.utils.split_and_load(batch[0], ctx_list=ctx, batch_axis=0)
        label = gluon.utils.split_and_load(batch[1], ctx_list=ctx, batch_axis=0)
        with autograd.record():
            losses = [loss_fn(net(x), t) for x, t in zip(data, label)]
        autograd.backward(losses)
        trainer.step(args.batch_size)
        curve.add(loss=sum(loss.sum().asscalar() for loss in losses) / args.batch_size)
    logging.info("learning rate at the end: %g", trainer.learning_rate)
    logging.info("test: %s", evaluate(net, test_batches, ctx))
    curve.finish(net)


if __name__ == "__main__":
    main()
