"""GANs by the library's own updaters, on random images: gradient penalties, spectral normalization."""

import importlib

import _chainer
import chainer
import numpy as np


def optimizer(model):
    return chainer.optimizers.Adam(alpha=0.0002, beta1=0.0, beta2=0.9).setup(model)


def train(run):
    run.path()
    run.path("common")
    net = importlib.import_module("common.net")
    images = np.random.RandomState(1).uniform(-1, 1, (64, 3, 32, 32)).astype(run.dtype)

    def training(algorithm, dis, gen=None, names=("opt_gen", "opt_dis"), more=(), **options):
        gen = gen or net.DCGANGenerator(n_hidden=16, ch=32)
        models = [gen, dis, *more]
        run.perturb(_chainer.arrays(*models))
        updater = importlib.import_module(f"{algorithm}.updater").Updater(
            iterator={"main": chainer.iterators.SerialIterator(images, 2)},
            models=models,
            device=-1,
            optimizer={name: optimizer(model) for name, model in zip(names, models, strict=False)},
            **options,
        )
        return _chainer.updates(updater)

    yield from run.together(
        wgan_gp=training("wgan_gp", net.WGANDiscriminator(), n_dis=1, lam=10),
        cramer=training("cramer", net.WGANDiscriminator(output_dim=16), n_dis=1, lam=10),
        spectral=training("stdgan", net.SNDCGANDiscriminator(ch=32), n_dis=1),
    )
