"""WaveNet: the example's network with embedded speakers, with two stacks of four dilations instead of five of ten."""

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    from config import data_config, wavenet_config
    from model import WaveNet

    nn.seed(0)
    rng = np.random.RandomState(1)
    batch, duration, speakers = 2, 128, 5
    wavenet_config.dilations, wavenet_config.skip_dims = [1, 2, 4, 8] * 2, 64
    x, t, s = nn.Variable((batch, duration, 1)), nn.Variable((batch, duration, 1)), nn.Variable((batch, 1))
    onehot = F.transpose(F.one_hot(x, shape=(data_config.q_bit_len,)), (0, 2, 1))
    with nn.parameter_scope("speaker_embedding"):
        embedded = PF.embed(s, n_inputs=speakers, n_features=wavenet_config.speaker_dims)
    y = F.transpose(WaveNet()(onehot, F.transpose(embedded, (0, 2, 1))), (0, 2, 1))
    loss = F.mean(F.softmax_cross_entropy(y, t))
    _nnabla.perturb(run)
    solver = S.Adam(0.001)
    solver.set_parameters(nn.get_parameters())

    def feed():
        sound = rng.randint(0, data_config.q_bit_len, (batch, duration + 1, 1))
        x.d, t.d, s.d = sound[:, :-1], sound[:, 1:], rng.randint(0, speakers, s.shape)

    yield from _nnabla.training(loss, solver, feed, y=y)
