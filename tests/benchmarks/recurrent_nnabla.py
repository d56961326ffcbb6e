"""Recurrent networks over 50 steps, or 20 of 1,024 units, forward and backward, as nnabla programs.

python -m tests.benchmarks.recurrent_nnabla static|dynamic
"""

import sys

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import numpy as np

from tests.benchmarks.worker import serve

TIME, BATCH, UNITS = 50, 32, 256
random = np.random.RandomState(0)


def variable(*shape):
    return nn.Variable.from_numpy_array(random.rand(*shape).astype(np.float32))


def zero_gradients():
    for p in nn.get_parameters().values():
        p.grad.zero()


def static(build):
    """A step on a static graph."""
    nn.clear_parameters()
    loss = F.sum(build())

    def step():
        loss.forward(clear_no_need_grad=True)
        zero_gradients()
        loss.backward(clear_buffer=True)

    return step


def dynamic(build):
    """A step that builds a dynamic graph (auto_forward)."""
    nn.clear_parameters()
    nn.set_auto_forward(True)
    build()

    def step():
        loss = F.sum(build())
        zero_gradients()
        loss.backward(clear_buffer=True)

    return step


def layer(step, kind, states, time=TIME, units=UNITS):
    x, start = variable(time, BATCH, units), [variable(1, 1, BATCH, units) for _ in range(states)]
    return step(lambda: kind(x, *start)[0])


def lstm_cells(step):
    xs, start = [variable(BATCH, UNITS) for _ in range(TIME)], variable(BATCH, UNITS)

    def build():
        h = c = start
        hs = []
        for x in xs:
            h, c = PF.lstm_cell(x, h, c, UNITS, name="lstm")
            hs.append(h)
        return F.stack(*hs)

    return step(build)


if __name__ == "__main__":
    mode = {"static": static, "dynamic": dynamic}[sys.argv[1]]
    serve(
        {
            "lstm layer": lambda: layer(mode, PF.lstm, 2),
            "gru layer": lambda: layer(mode, PF.gru, 1),
            "tanh layer": lambda: layer(mode, PF.rnn, 1),
            "lstm layer, 1024": lambda: layer(mode, PF.lstm, 2, 20, 1024),
            "gru layer, 1024": lambda: layer(mode, PF.gru, 1, 20, 1024),
            "lstm cells": lambda: lstm_cells(mode),
        }
    )
