"""WGAN-GP: the example's networks, loss and training loop with one critic step, on random images."""

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    from models import discriminator, gan_loss, generator

    nn.random.prng = np.random.RandomState(0)
    batch, latent, maps = 4, 8, 4
    z = nn.Variable([batch, latent])
    x_fake = generator(z, maps=maps).apply(persistent=True)
    loss_gen = gan_loss(discriminator(x_fake, maps=maps)).apply(persistent=True)
    x_real, eps = nn.Variable([batch, 3, 32, 32]), nn.Variable([batch, 1, 1, 1])
    loss_dis = gan_loss(discriminator(x_fake, maps=maps), discriminator(x_real, maps=maps)).apply(persistent=True)
    x_mix = eps * x_real + (1.0 - eps) * x_fake
    p_mix = discriminator(x_mix, maps=maps)
    x_mix.need_grad = True
    norms = [F.sum(g**2.0, [1, 2, 3]) ** 0.5 for g in nn.grad([p_mix], [x_mix])]
    penalty = sum([F.mean((n - 1.0) ** 2.0) for n in norms])
    loss_dis += 10.0 * penalty
    _nnabla.perturb(run)
    solvers = {}
    for name in ("generator", "discriminator"):
        solvers[name] = S.Adam(1e-4, 0.5, 0.9)
        with nn.parameter_scope(name):
            solvers[name].set_parameters(nn.get_parameters())
    rng = np.random.RandomState(1)
    while True:
        for name, loss in (("discriminator", loss_dis), ("generator", loss_gen)):
            x_fake.need_grad = name == "generator"
            x_real.d = rng.uniform(-1, 1, x_real.shape)
            eps.d = rng.uniform(size=eps.shape)
            z.d = rng.randn(batch, latent)
            solvers[name].zero_grad()
            loss.forward(clear_no_need_grad=True)
            loss.backward(clear_buffer=True)
            solvers[name].update()
        yield {"generator": loss_gen.d, "critic": loss_dis.d}
