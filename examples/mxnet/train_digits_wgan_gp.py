#!/usr/bin/env python
"""WGAN-GP on handwritten digits (Gulrajani et al., "Improved Training of Wasserstein GANs").

The critic's gradient with respect to its input is part of its loss, so the loss is differentiated through
`autograd.grad`.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

import digits
import options


def build_generator(latent, width):
    net = nn.HybridSequential(prefix="generator_")
    with net.name_scope():
        net.add(nn.Dense(2 * width * 2 * 2, in_units=latent, use_bias=False))
        net.add(nn.BatchNorm(in_channels=2 * width * 2 * 2), nn.Activation("relu"))
        net.add(nn.HybridLambda(lambda F, x: F.reshape(x, shape=(0, -1, 2, 2))))
        net.add(nn.Conv2DTranspose(width, 4, strides=2, padding=1, in_channels=2 * width, use_bias=False))
        net.add(nn.BatchNorm(in_channels=width), nn.Activation("relu"))
        net.add(nn.Conv2DTranspose(1, 4, strides=2, padding=1, in_channels=width, activation="sigmoid"))
    return net


def build_critic(width):
    net = nn.HybridSequential(prefix="critic_")
    with net.name_scope():
        net.add(nn.Conv2D(width, 4, strides=2, padding=1, in_channels=1), nn.LeakyReLU(0.2))
        net.add(nn.Conv2D(2 * width, 4, strides=2, padding=1, in_channels=width), nn.LeakyReLU(0.2))
        # Only differences of the critic's values matter, so it has no bias.
        net.add(nn.Flatten(), nn.Dense(1, in_units=2 * width * 2 * 2, use_bias=False))
    return net


class WGAN(gluon.Block):
    """Both networks in one block, so that their parameters are in one file."""

    def __init__(self, latent, width, **kwargs):
        super(WGAN, self).__init__(**kwargs)
        with self.name_scope():
            self.generator = build_generator(latent, width)
            self.critic = build_critic(width)


def gradient_penalty(critic, real, fake, eps):
    """Mean square of the difference between one and the norm of the critic's gradient between real and fake images."""
    x = eps * real + (1 - eps) * fake
    x.attach_grad()
    value = critic(x)
    gradient = autograd.grad(value, [x], create_graph=True, retain_graph=True)[0]
    norm = nd.sqrt(nd.sum(nd.square(gradient), axis=(1, 2, 3)) + 1e-12)
    return nd.mean(nd.square(norm - 1))


def main():
    p = options.parser("WGAN-GP on the digits of scikit-learn", steps=600, batch_size=50, lr=0.0005)
    p.add_argument("--n-critic", type=int, default=3, help="updates of the critic per update of the generator")
    p.add_argument("--latent", type=int, default=32, help="dimension of the noise")
    p.add_argument("--width", "-w", type=int, default=16, help="channels of the widest images")
    p.add_argument("--lam", type=float, default=10, help="weight of the gradient penalty")
    args = p.parse_args()
    ctx = options.start(args)
    rng = np.random.RandomState(args.seed)

    net = WGAN(args.latent, args.width, prefix="wgan_")
    generator, critic = net.generator, net.critic
    options.initialize(net, mx.init.Normal(0.05), args, ctx)
    adam = {"learning_rate": args.lr, "beta1": 0.0, "beta2": 0.9}
    critic_trainer = gluon.Trainer(critic.collect_params(), "adam", adam)
    generator_trainer = gluon.Trainer(generator.collect_params(), "adam", adam)

    def noise(n):
        return nd.array(rng.randn(n, args.latent), ctx=ctx)

    curve = options.Curve(args)
    batches = digits.forever(digits.loader(args.batch_size))
    for i in range(args.steps):
        real = next(batches)[0].as_in_context(ctx)
        with autograd.train_mode():
            fake = generator(noise(args.batch_size))
        eps = nd.array(rng.uniform(size=(args.batch_size, 1, 1, 1)), ctx=ctx)
        with autograd.record():
            distance = critic(fake).mean() - critic(real).mean()
            penalty = gradient_penalty(critic, real, fake, eps)
            loss = distance + args.lam * penalty
        loss.backward()
        critic_trainer.step(1)
        values = {"critic": loss, "penalty": penalty, "distance": distance}

        if (i + 1) % args.n_critic == 0:
            with autograd.record():
                loss = -critic(generator(noise(args.batch_size))).mean()
            loss.backward()
            generator_trainer.step(1)
            values["generator"] = loss
        curve.add(**values)

    digits.show(generator(noise(8)))
    curve.finish(net)


if __name__ == "__main__":
    main()
