"""The generative query network with both representations, its optimizer and schedule, on random scenes."""

import math
import random

import _chainer
import chainer
import chainer.functions as F
import numpy as np


def train(run):
    _chainer.numpy_for_cupy()
    run.path()
    run.without("tabulate", "chainermn")
    from gqn.preprocessing import preprocess_images
    from hyperparams import HyperParameters
    from model import Model
    from trainer.optimizer import AdamOptimizer
    from trainer.scheduler import PixelVarianceScheduler

    rng = np.random.RandomState(1)
    size, batch, views = 16, 2, 3
    images = rng.randint(0, 256, (6, views, 3, size, size)).astype(run.dtype)
    viewpoints = rng.normal(size=(6, views, 7)).astype(run.dtype)

    def training(architecture, share):
        options = HyperParameters()
        options.num_layers, options.image_size = 3, (size, size)
        options.h_channels, options.u_channels, options.r_channels = 6, 6, 8
        options.generator_share_core = options.inference_share_core = share
        options.representation_architecture = architecture
        model = Model(options)
        scheduler = PixelVarianceScheduler(sigma_start=2.0, sigma_end=0.7, final_num_updates=100)
        optimizer = AdamOptimizer(model.parameters, initial_lr=1e-3)
        step = 0
        while True:
            # as in train.py, some views show the scene, one is predicted. Viewpoints are variables: Chainer 7.8 fails
            # to compute the gradient of the filters of a deconvolution whose input is an array
            places = np.random.permutation(6)[:batch]
            chosen = random.sample(range(views), random.choice(range(1, views + 1)))
            query = random.choice(range(views))
            x = preprocess_images(images[places, query])

            def forward(places=places, chosen=chosen, query=query, x=x):
                scene = model.compute_observation_representation(
                    preprocess_images(images[places][:, chosen]), chainer.Variable(viewpoints[places][:, chosen])
                )
                return model.sample_z_and_x_params_from_posterior(x, chainer.Variable(viewpoints[places, query]), scene)

            if not step:
                forward()  # initializes parameters whose sizes depend on the input
                run.perturb(_chainer.arrays(model.parameters))
            steps, mean = forward()
            divergence = 0
            for mean_q, ln_q, mean_p, ln_p in steps:
                q = chainer.distributions.Normal(mean_q, log_scale=ln_q)
                p = chainer.distributions.Normal(mean_p, log_scale=ln_p)
                divergence += F.sum(chainer.kl_divergence(q, p)) / batch
            deviation = np.full(x.shape, math.log(scheduler.standard_deviation), run.dtype)
            likelihood = F.sum(chainer.distributions.Normal(x, log_scale=deviation).log_prob(mean)) / batch
            loss = divergence - likelihood
            model.cleargrads()
            loss.backward()
            optimizer.update(step)
            step += 1
            scheduler.update(step)
            yield {"divergence": divergence.array, "likelihood": likelihood.array}

    yield from run.together(tower=training("tower", False), pool=training("pool", True))
