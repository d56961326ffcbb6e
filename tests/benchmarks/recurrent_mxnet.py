"""Recurrent networks over 50 steps, or 20 of 1,024 units, forward and backward, as MXNet programs."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import contrib, rnn

from tests.benchmarks.worker import serve

TIME, BATCH, UNITS = 50, 32, 256
random = np.random.RandomState(0)


def step_of(net, forward, x):
    net.initialize()

    def step():
        with autograd.record():
            loss = forward(x).sum()
        loss.backward()
        mx.nd.waitall()

    return step


def sequence(*shape, time=TIME):
    return nd.array(random.rand(time, *(shape or (BATCH, UNITS))).astype(np.float32))


def layer(net):
    return step_of(net, net, sequence())


def large_layer(kind):
    net = kind(1024, input_size=1024)
    return step_of(net, net, sequence(BATCH, 1024, time=20))


class Unrolled(gluon.HybridBlock):
    def __init__(self, cell):
        super().__init__()
        with self.name_scope():
            self.cell = cell

    def hybrid_forward(self, F, x):
        return self.cell.unroll(TIME, x, layout="TNC", merge_outputs=True)[0]


def cells(cell, hybrid=False):
    net = Unrolled(cell)
    if hybrid:
        net.hybridize()
    return step_of(net, net, sequence())


def symbol(cell):
    """A step of a cell as a symbol, run by an executor."""
    outputs, _ = cell.unroll(TIME, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    executor = mx.sym.make_loss(mx.sym.sum(outputs)).simple_bind(mx.cpu(), data=(TIME, BATCH, UNITS))
    for x in executor.arg_dict.values():
        x[:] = random.uniform(-0.1, 0.1, x.shape)

    def step():
        executor.forward(is_train=True)
        executor.backward()
        mx.nd.waitall()

    return step


def images():
    cell = contrib.rnn.Conv2DLSTMCell((8, 12, 12), 16, 3, 3, 1)

    def forward(xs):
        states, ys = cell.begin_state(4), []
        for x in xs:
            y, states = cell(x, states)
            ys.append(y)
        return nd.stack(*ys)

    return step_of(cell, forward, sequence(4, 8, 12, 12))


if __name__ == "__main__":
    serve(
        {
            "lstm layer": lambda: layer(rnn.LSTM(UNITS, input_size=UNITS)),
            "gru layer": lambda: layer(rnn.GRU(UNITS, input_size=UNITS)),
            "tanh layer": lambda: layer(rnn.RNN(UNITS, activation="tanh", input_size=UNITS)),
            "lstm layer, 1024": lambda: large_layer(rnn.LSTM),
            "gru layer, 1024": lambda: large_layer(rnn.GRU),
            "lstm cells": lambda: cells(rnn.LSTMCell(UNITS, input_size=UNITS)),
            "lstm hybrid": lambda: cells(rnn.LSTMCell(UNITS, input_size=UNITS), True),
            "lstm symbol": lambda: symbol(rnn.LSTMCell(UNITS, input_size=UNITS)),
            "gru cells": lambda: cells(rnn.GRUCell(UNITS, input_size=UNITS)),
            "gru symbol": lambda: symbol(rnn.GRUCell(UNITS, input_size=UNITS)),
            "lstm projected": lambda: cells(contrib.rnn.LSTMPCell(UNITS, UNITS, input_size=UNITS)),
            "lstm of images": images,
        }
    )
