"""Architecture search with the library's modules: the DARTS space, with all operations weighted or one sampled."""

import _gym
import _nnabla
import nnabla as nn
import nnabla.solvers as S
import numpy as np


def train(run):
    run.path()
    _gym.install("omegaconf", "hydra", "imageio", "nvidia", "tensorboard", "networkx", "pygraphviz")
    from nnabla_nas.contrib.classification import darts

    rng = np.random.RandomState(1)
    image, label = nn.Variable((2, 3, 32, 32)), nn.Variable((2, 1))

    def training(mode):
        net = darts.SearchNet(3, 2, 3, 10, num_choices=2, multiplier=2, mode=mode, shared=True)
        net.apply(training=True)
        loss = net.loss([net(image)], [label])
        weights, alphas = net.get_net_parameters(grad_only=True), net.get_arch_parameters(grad_only=True)
        for p in alphas.values():
            p.d = rng.uniform(-0.1, 0.1, p.shape)
        _nnabla.perturb(run, {**weights, **alphas})
        solvers = S.Momentum(0.01), S.Adam(3e-4, beta1=0.5)
        for solver, chosen in zip(solvers, (weights, alphas), strict=True):
            solver.set_parameters(chosen)
        while True:
            values = []
            for solver in solvers:
                image.d, label.d = _nnabla.images(rng, image.shape) / 128.0 - 1, rng.randint(0, 10, label.shape)
                if mode != "full":  # other sampled operations need another graph
                    loss = net.loss([net(image)], [label])
                solver.zero_grad()
                loss.forward(clear_no_need_grad=True)
                loss.backward(clear_buffer=True)
                solver.update()
                values.append(loss.d.copy())
            yield {"trained": values[0], "validated": values[1], "alphas": sum(abs(p.d).sum() for p in alphas.values())}

    nn.seed(0)
    yield from run.together(full=training("full"), sample=training("sample"), max=training("max"))
