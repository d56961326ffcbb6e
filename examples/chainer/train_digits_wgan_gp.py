#!/usr/bin/env python
"""WGAN-GP on handwritten digits.

The critic's gradient with respect to its input is part of its loss (Gulrajani et al.,
"Improved Training of Wasserstein GANs"), so the loss is differentiated through a gradient.
"""

import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import optimizers
from chainer import serializers

import digits
from losslog import LossLog


class Generator(chainer.Chain):
    def __init__(self, n_hidden, width):
        super().__init__()
        self.n_hidden = n_hidden
        self.width = width
        with self.init_scope():
            self.l0 = L.Linear(n_hidden, 2 * 2 * 2 * width, nobias=True)
            self.bn0 = L.BatchNormalization(2 * 2 * 2 * width)
            self.dc1 = L.Deconvolution2D(2 * width, width, 4, 2, 1, nobias=True)
            self.bn1 = L.BatchNormalization(width)
            self.dc2 = L.Deconvolution2D(width, 1, 4, 2, 1)

    def make_hidden(self, batchsize):
        return np.random.normal(size=(batchsize, self.n_hidden)).astype(np.float32)

    def forward(self, z):
        h = F.relu(self.bn0(self.l0(z)))
        h = F.reshape(h, (len(z), 2 * self.width, 2, 2))
        h = F.relu(self.bn1(self.dc1(h)))
        return F.sigmoid(self.dc2(h))


class Critic(chainer.Chain):
    def __init__(self, width):
        super().__init__()
        with self.init_scope():
            self.c0 = L.Convolution2D(1, width, 4, 2, 1)
            self.c1 = L.Convolution2D(width, 2 * width, 4, 2, 1)
            # Only differences of the critic's values matter, so it has no bias.
            self.l2 = L.Linear(2 * 2 * 2 * width, 1, nobias=True)

    def forward(self, x):
        # Smooth, because the penalty uses its second derivative.
        h = F.softplus(self.c0(x))
        h = F.softplus(self.c1(h))
        return self.l2(h)


def gradient_penalty(critic, x_real, x_fake):
    eps = np.random.uniform(0, 1, (len(x_real), 1, 1, 1)).astype(np.float32)
    x_mid = chainer.Variable(eps * x_real + (1 - eps) * x_fake)
    y_mid = critic(x_mid)
    (grad,) = chainer.grad([y_mid], [x_mid], enable_double_backprop=True)
    norm = F.sqrt(F.sum(F.square(grad), axis=(1, 2, 3)) + 1e-8)
    return F.mean_squared_error(norm, np.ones_like(norm.array))


def show_samples(generator, n):
    """Draw some digits in the terminal."""
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        images = generator(generator.make_hidden(n)).array[:, 0]
    for row in range(8):
        print("  ".join("".join(" .:-=+*#%@"[min(int(p * 10), 9)] for p in image[row]) for image in images))


def main():
    parser = argparse.ArgumentParser(description="WGAN-GP on the digits of scikit-learn")
    parser.add_argument("--batchsize", "-b", type=int, default=50, help="number of images in a mini-batch")
    parser.add_argument("--epoch", "-e", type=int, default=40, help="number of epochs")
    parser.add_argument("--n-critic", type=int, default=3, help="updates of the critic per update of the generator")
    parser.add_argument("--hidden", type=int, default=32, help="dimension of the hidden vector")
    parser.add_argument("--width", "-w", type=int, default=16, help="channels of the widest images")
    parser.add_argument("--lam", type=float, default=10, help="weight of the gradient penalty")
    parser.add_argument("--lr", type=float, default=0.0001, help="learning rate of Adam")
    parser.add_argument("--seed", "-s", type=int, default=0, help="random seed")
    parser.add_argument("--out", "-o", help="write the losses of every iteration to this JSON file")
    parser.add_argument("--model", "-m", help="save the trained generator to this npz file")
    args = parser.parse_args()

    np.random.seed(args.seed)
    (x_train, _), _ = digits.load(ndim=3)

    generator = Generator(args.hidden, args.width)
    critic = Critic(args.width)
    opt_gen = optimizers.Adam(alpha=args.lr, beta1=0.0, beta2=0.9)
    opt_gen.setup(generator)
    opt_critic = optimizers.Adam(alpha=args.lr, beta1=0.0, beta2=0.9)
    opt_critic.setup(critic)

    generator_loss = float("nan")
    log = LossLog(("loss", "penalty", "generator"))
    for _ in range(args.epoch):
        for index in digits.minibatches(len(x_train), args.batchsize):
            x_real = x_train[index]
            x_fake = generator(generator.make_hidden(len(x_real)))
            x_fake.unchain_backward()
            distance = F.mean(critic(x_fake)) - F.mean(critic(x_real))
            penalty = gradient_penalty(critic, x_real, x_fake.array)
            loss = distance + args.lam * penalty
            critic.cleargrads()
            loss.backward()
            opt_critic.update()
            log.add(loss=loss.array, penalty=penalty.array, distance=distance.array)

            if len(log.records) % args.n_critic == 0:
                loss_gen = -F.mean(critic(generator(generator.make_hidden(args.batchsize))))
                generator.cleargrads()
                loss_gen.backward()
                opt_gen.update()
                generator_loss = float(loss_gen.array)
        log.show(len(x_train) // args.batchsize, generator=generator_loss)

    show_samples(generator, 8)
    if args.out:
        log.save(args.out)
    if args.model:
        serializers.save_npz(args.model, generator)


if __name__ == "__main__":
    main()
