"""Recurrent networks over 50 steps, or 20 of 1,024 units, forward and backward, as torch programs."""

import torch
from torch import nn

from tests.benchmarks.worker import THREADS, serve

TIME, BATCH, UNITS = 50, 32, 256  # the sizes in all programs `recurrent_*`

torch.set_num_threads(THREADS)
torch.manual_seed(0)


def step_of(model, forward, time=TIME, units=UNITS):
    x = torch.rand(time, BATCH, units)

    def step():
        model.zero_grad()
        forward(x).sum().backward()

    return step


def layer(kind, time=TIME, units=UNITS):
    model = kind(units, units)
    return step_of(model, lambda x: model(x)[0], time, units)


def lstm_cells():
    model = nn.LSTMCell(UNITS, UNITS)

    def forward(xs):
        h = c = torch.zeros(BATCH, UNITS)
        hs = []
        for x in xs:
            h, c = model(x, (h, c))
            hs.append(h)
        return torch.stack(hs)

    return step_of(model, forward)


def gru_cells():
    model = nn.GRUCell(UNITS, UNITS)

    def forward(xs):
        h = torch.zeros(BATCH, UNITS)
        hs = []
        for x in xs:
            h = model(x, h)
            hs.append(h)
        return torch.stack(hs)

    return step_of(model, forward)


if __name__ == "__main__":
    serve(
        {
            "lstm layer": lambda: layer(nn.LSTM),
            "gru layer": lambda: layer(nn.GRU),
            "lstm layer, 1024": lambda: layer(nn.LSTM, 20, 1024),
            "gru layer, 1024": lambda: layer(nn.GRU, 20, 1024),
            "lstm cells": lstm_cells,
            "gru cells": gru_cells,
        }
    )
