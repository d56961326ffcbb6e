"""Recurrent networks over 50 steps, or 20 of 1,024 units, forward and backward, as Chainer programs."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

from tests.benchmarks.worker import serve

TIME, BATCH, UNITS = 50, 32, 256
random = np.random.RandomState(0)


def step_of(model, forward):
    def step():
        model.cleargrads()
        F.sum(forward()).backward()

    return step


def layer(kind, states, lengths, units=UNITS):
    """A step of a one-layer network on sequences of the given lengths."""
    model = kind(1, units, units, 0.0)
    xs = [random.rand(n, units).astype(np.float32) for n in lengths]
    none = [None] * states
    return step_of(model, lambda: F.concat(model(*none, xs)[-1], axis=0))


def cells(model):
    xs = random.rand(TIME, BATCH, UNITS).astype(np.float32)

    def forward():
        model.reset_state()
        return F.stack([model(x) for x in xs])

    return step_of(model, forward)


def tree(model, children):
    """A degenerate tree: each node's first child is the previous node, its other children are leaves."""
    xs = random.rand(TIME, BATCH, UNITS).astype(np.float32)
    zero = chainer.Variable(np.zeros((BATCH, UNITS), np.float32))

    def forward():
        c = h = zero
        hs = []
        for x in xs:
            c, h = model(c, *[zero] * (children - 1), h, *[zero] * (children - 1), x)
            hs.append(h)
        return F.stack(hs)

    return step_of(model, forward)


SAME, FALLING = [TIME] * BATCH, [TIME - n for n in range(BATCH)]

if __name__ == "__main__":
    serve(
        {
            "lstm layer": lambda: layer(L.NStepLSTM, 2, SAME),
            "lstm layer, 1024": lambda: layer(L.NStepLSTM, 2, [20] * BATCH, 1024),
            "gru layer, 1024": lambda: layer(L.NStepGRU, 1, [20] * BATCH, 1024),
            "lstm layer, lengths": lambda: layer(L.NStepLSTM, 2, FALLING),
            "lstm both ways": lambda: layer(L.NStepBiLSTM, 2, SAME),
            "gru layer": lambda: layer(L.NStepGRU, 1, SAME),
            "tanh layer": lambda: layer(L.NStepRNNTanh, 1, SAME),
            "lstm cells": lambda: cells(L.LSTM(UNITS, UNITS)),
            "gru cells": lambda: cells(L.GRU(UNITS, UNITS)),
            "peephole": lambda: cells(L.StatefulPeepholeLSTM(UNITS, UNITS)),
            "zoneout": lambda: cells(L.StatefulZoneoutLSTM(UNITS, UNITS)),
            "mgu": lambda: cells(L.StatefulMGU(UNITS, UNITS)),
            "tree, 2": lambda: tree(L.NaryTreeLSTM(UNITS, UNITS, 2), 2),
            "tree, 3": lambda: tree(L.NaryTreeLSTM(UNITS, UNITS, 3), 3),
            "child sum, 4": lambda: tree(L.ChildSumTreeLSTM(UNITS, UNITS), 4),
        }
    )
