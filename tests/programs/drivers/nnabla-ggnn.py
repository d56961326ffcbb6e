"""Gated graph network: the example that predicts degrees, on four random graphs per step."""

import importlib

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np


class Lists:
    """Replaces NumPy in one module, because newer versions refuse to make arrays of lists of different lengths."""

    identity, float32 = np.identity, np.float32
    array = staticmethod(list)


def train(run):
    run.path()
    from ggnn.lib import layers, utils

    degree = importlib.import_module("examples.degree")
    layers.np = Lists
    nn.seed(0)
    solver, rng = None, np.random.RandomState(1)
    while True:
        total = 0.0
        for _ in range(4):
            vertices, edges = degree.random_graph(rng)
            y = degree.predict(vertices, utils.from_adjacency_list(edges))
            t = nn.Variable.from_numpy_array(np.array(degree.degrees(vertices, edges), "f"))
            loss = F.mean(F.squared_error(y, F.reshape(t, (len(vertices), 1))))
            if solver is None:
                _nnabla.perturb(run)
                solver = S.Adam()
                solver.set_parameters(nn.get_parameters())
            loss.forward(clear_no_need_grad=True)
            loss.backward(clear_buffer=True)
            total += loss.d
        solver.update()
        yield {"loss": total}
