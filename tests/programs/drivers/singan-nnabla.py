"""SinGAN: the coarsest scale of the pyramid, by the updates of the program's own model, on a random image."""

import _nnabla
import nnabla as nn
import numpy as np


def train(run):
    run.path()
    from model import Model

    nn.seed(0)
    rng = np.random.RandomState(1)
    real = rng.uniform(-1, 1, (1, 3, 12, 14)).astype("f")
    model = Model(
        real=real,
        num_layer=5,
        fs=8,
        min_fs=8,
        kernel=3,
        pad=0,
        lam_grad=0.1,
        alpha_recon=10.0,
        d_lr=5e-4,
        g_lr=5e-4,
        beta1=0.5,
        gamma=0.1,
        lr_milestone=8,
        scope="0",
    )
    _nnabla.perturb(run)
    zeros, fixed = np.zeros(real.shape), rng.normal(size=(1, 1, 12, 14))
    epoch = 0
    while True:
        noise = rng.normal(size=(1, 1, 12, 14)) + zeros
        critic = model.update_d(epoch, noise, zeros)
        generator = model.update_g(epoch, noise, zeros, fixed + zeros, zeros)
        epoch += 1
        yield {
            "fake": critic[0],
            "real": critic[1],
            "generator": generator[0],
            "reconstruction": generator[1],
            "image": np.abs(model.generate(noise, zeros)).mean(),
        }
