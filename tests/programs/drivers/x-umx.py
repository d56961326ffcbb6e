"""X-UMX and UMX: both networks with their losses, on noise, with short windows and few hidden units."""

import argparse

import _nnabla
import nnabla as nn
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    import model

    bins = 40
    names = model.BaseClass.__init__.__code__.co_varnames[1:]
    defaults = dict(zip(names, model.BaseClass.__init__.__defaults__, strict=False))
    defaults.update(n_fft=128, n_hop=32, hidden_size=16)
    model.BaseClass.__init__.__defaults__ = tuple(defaults.values())
    rng = np.random.RandomState(1)

    def training(name, umx):
        args = argparse.Namespace(
            umx_train=umx, batch_size=2, nb_channels=2, sample_rate=500, seq_dur=1, valid_dur=1, mcoef=10.0
        )
        with _nnabla.building(run, name):
            net = model.get_model(args, rng.uniform(0.5, 1, 65), rng.uniform(0.5, 2, 65), max_bin=bins)
            solver = S.Adam(1e-3)
            solver.set_parameters(nn.get_parameters())

        def feed():
            sources = rng.normal(size=(2, 4, 2, 500)).cumsum(-1) * 0.1
            net.mixture_audio.d = sources.sum(1)
            net.target_audio.d = sources[:, 0] if umx else sources.reshape(2, 8, 500)

        yield from _nnabla.training(net.loss, solver, feed, 1e-5)

    nn.seed(0)
    yield from run.together(crossed=training("crossed", False), single=training("single", True))
