"""Graph convolution: the example's network, on a random graph."""

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    from gcn_model import gcn

    nn.random.prng = np.random.RandomState(0)
    rng = np.random.RandomState(1)
    nodes, classes = 60, 4
    links = (rng.uniform(size=(nodes, nodes)) < 0.08).astype("f")
    links = np.maximum(links, links.T) + np.eye(nodes, dtype="f")
    scale = 1 / np.sqrt(links.sum(1))
    a = nn.Variable.from_numpy_array(scale[:, None] * links * scale)
    x = nn.Variable.from_numpy_array(rng.normal(size=(nodes, 12)))
    t = nn.Variable.from_numpy_array(rng.randint(0, classes, (nodes, 1)))
    y = gcn(a, x, classes, dropout=0)
    loss = F.mean(F.categorical_cross_entropy(y, t))
    _nnabla.perturb(run)
    solver = S.Adam(0.01)
    solver.set_parameters(nn.get_parameters())
    while True:
        loss.forward()
        solver.zero_grad()
        loss.backward()
        solver.weight_decay(5e-4)
        solver.update()
        yield {"loss": loss.d, "size": np.abs(y.d).max()}
