"""MAML: the example's step over a batch of tasks, with second derivatives and without, on random drawings."""

import argparse

import _nnabla
import nnabla as nn
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    from data_generator_maml import DataGenerator
    from net import net
    from train_maml import inner_train_test

    drawings = np.random.RandomState(1).uniform(size=(20, 8, 1, 14, 14))

    def training(name, **options):
        args = argparse.Namespace(
            datasource="omniglot",
            method="maml",
            num_classes=3,
            num_updates=1,
            train_update_lr=0.4,
            norm="batch_norm",
            num_filters=8,
            **options,
        )
        data = DataGenerator(3, 2, 2, drawings.shape[2:], drawings, 2)
        x, y = nn.Variable((6, *drawings.shape[2:])), nn.Variable((6, *drawings.shape[2:]))
        tx, ty = nn.Variable((6, 1)), nn.Variable((6, 1))
        nn.seed(0)
        with _nnabla.building(run, name), nn.parameter_scope("meta"):
            net(x, tx, True, args)
            solver = S.Adam(0.001)
            solver.set_parameters(nn.get_parameters())
        while True:
            solver.zero_grad()
            with nn.parameter_scope(name):
                before, after, _, _ = inner_train_test(x, y, tx, ty, data, True, args)
            solver.update()
            yield {"before": np.mean(before), "after": np.mean(after)}

    yield from run.together(
        full=training("full", first_order=False, max_pool=True),
        first=training("first", first_order=True, max_pool=False),
    )
