"""Glow with both couplings, its loss and optimizer, on random images (its LU variant calls a missing function)."""

import math

import _chainer
import chainer.functions as F
import numpy as np


def train(run):
    _chainer.numpy_for_cupy()
    run.path()
    run.path("run")
    run.without("tabulate")
    import glow
    from hyperparams import Hyperparameters
    from model import Glow
    from optimizer import Optimizer

    rng = np.random.RandomState(1)
    size, bins, batch = 8, 32, 4
    dataset = glow.dataset.Dataset(np.floor(rng.uniform(0, bins, (24, 3, size, size))).astype(run.dtype) / bins - 0.5)

    def training(coupling):
        options = Hyperparameters()
        options.levels, options.depth_per_level, options.nn_hidden_channels = 2, 2, 8
        options.image_size, options.num_bits_x = (size, size), 5
        model = Glow(options, coupling=coupling)
        optimizer = Optimizer(model)
        model.initialize_actnorm_weights(dataset[np.arange(batch)])
        run.perturb(_chainer.arrays(model))
        pixels = 3 * size * size
        step = 0
        while True:
            for places in glow.dataset.Iterator(dataset, batch_size=batch):
                x = dataset[places]
                x += np.random.uniform(0, 1.0 / bins, size=x.shape)
                levels, logdet = model.forward_step(x)
                logdet -= math.log(bins) * pixels
                nll = sum(F.gaussian_nll(*level) for level in levels)
                kld = sum(F.gaussian_kl_divergence(mean, ln_var) for _, mean, ln_var in levels)
                loss = ((nll + kld) / batch - logdet) / (math.log(2.0) * pixels)
                model.cleargrads()
                loss.backward()
                optimizer.update(step)
                step += 1
                yield {"loss": loss.array, "nll": nll.array, "kld": kld.array, "logdet": logdet.array}

    yield from run.together(additive=training("additive"), affine=training("affine"))
