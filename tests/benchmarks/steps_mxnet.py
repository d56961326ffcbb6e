"""Training steps as MXNet programs."""

import time

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

from tests.benchmarks.worker import serve

random = np.random.RandomState(0)
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()


def floats(*shape):
    return nd.array(random.rand(*shape))


def labels(n_classes, *shape):
    return nd.array(random.randint(0, n_classes, shape))


def training_step(net, batchsize, optimizer, settings, lossfun, clip=None):
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)

    def step():
        with autograd.record():
            loss = lossfun()
        loss.backward()
        if clip:
            gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], clip)
        trainer.step(batchsize)
        mx.nd.waitall()

    return step


def mlp(n_in, n_units, n_out, batchsize):
    net = nn.HybridSequential()
    net.add(nn.Dense(n_units, activation="relu", in_units=n_in))
    net.add(nn.Dense(n_units, activation="relu", in_units=n_units))
    net.add(nn.Dense(n_out, in_units=n_units))
    x, t = floats(batchsize, n_in), labels(n_out, batchsize)
    return training_step(net, batchsize, "adam", {}, lambda: loss_fn(net(x), t))


def cnn():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, padding=1, in_channels=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(2))
    net.add(nn.Conv2D(32, 3, padding=1, in_channels=16, activation="relu"), nn.MaxPool2D(2), nn.Dense(10))
    x, t = floats(32, 1, 28, 28), labels(10, 32)
    return training_step(net, 32, "sgd", {"learning_rate": 0.01, "momentum": 0.9}, lambda: loss_fn(net(x), t))


def lstm_lm():
    net = nn.Block()
    net.embed, net.lstm, net.out = nn.Embedding(200, 64), rnn.LSTMCell(64, input_size=64), nn.Dense(200, in_units=64)
    xs = [labels(200, 16) for _ in range(20)]
    ts = [labels(200, 16) for _ in range(20)]

    def lossfun():
        state = net.lstm.begin_state(16)
        loss = 0
        for x, t in zip(xs, ts):  # noqa: B905
            h, state = net.lstm(net.embed(x), state)
            loss = loss + loss_fn(net.out(h), t)
        return loss

    return training_step(net, 16, "sgd", {"learning_rate": 0.1}, lossfun, clip=5 * 16)


def wgan_gp():
    net = nn.Sequential()
    net.add(nn.Conv2D(16, 4, 2, 1, in_channels=3), nn.LeakyReLU(0.2), nn.Conv2D(32, 4, 2, 1, in_channels=16))
    net.add(nn.LeakyReLU(0.2), nn.Dense(1, in_units=32 * 8 * 8))
    images = floats(16, 3, 32, 32)

    def lossfun():
        x = images.copy()
        x.attach_grad()
        y = net(x)
        (g,) = autograd.grad(y, [x], create_graph=True)
        norm = (g * g).sum(axis=(1, 2, 3)).sqrt()
        return ((norm - 1) ** 2).mean() + y.mean()

    return training_step(net, 1, "adam", {"learning_rate": 1e-4, "beta1": 0.0, "beta2": 0.9}, lossfun)


if __name__ == "__main__":
    serve(
        {
            "mlp_tiny": lambda: mlp(32, 64, 10, 16),
            "mlp_mnist": lambda: mlp(784, 1000, 10, 100),
            "cnn": cnn,
            "lstm_lm": lstm_lm,
            "wgan_gp": wgan_gp,
        },
        time.perf_counter,
    )
