"""Conditional GAN with spectral normalization: the 32 pixel networks and their updater, on random images."""

import _chainer
import chainer
import numpy as np


def train(run):
    run.path()
    from dis_models.snresnet_32 import SNResNetProjectionDiscriminator
    from gen_models.resnet_32 import ResNetGenerator
    from source.functions import max_sv
    from updater import Updater

    max_sv._l2normalize = lambda v, eps: v / (np.sqrt((v**2).sum()) + eps)  # in place of a CuPy kernel

    rng = np.random.RandomState(1)
    data = [(rng.uniform(-1, 1, (3, 32, 32)).astype(run.dtype), np.int32(i % 4)) for i in range(64)]
    for loss_type in ("hinge",):
        gen = ResNetGenerator(ch=8, dim_z=16, n_classes=4)
        dis = SNResNetProjectionDiscriminator(ch=8, n_classes=4)
        run.perturb(_chainer.arrays(gen, dis))
        optimizers = {
            "opt_gen": chainer.optimizers.Adam(alpha=0.0002, beta1=0.0, beta2=0.9).setup(gen),
            "opt_dis": chainer.optimizers.Adam(alpha=0.0002, beta1=0.0, beta2=0.9).setup(dis),
        }
        updater = Updater(
            iterator=chainer.iterators.SerialIterator(data, 8),
            optimizer=optimizers,
            device=-1,
            models={"gen": gen, "dis": dis},
            n_dis=2,
            n_gen_samples=8,
            loss_type=loss_type,
            conditional=True,
        )
        yield from _chainer.updates(updater)
