"""Random networks over processes, whose gradients are sent while backward goes on, beside the same networks whose
gradients are summed one by one after backward. Python finds this module beside the program that it runs."""

import chainer
import chainer.functions as F
import chainermn.functions as MF
import chainermn.links as ML
import numpy as np
from chainermn import create_multi_node_optimizer

from compatgrad.core.distributed import reducing

SHAPES = [(3, 3)] * 7 + [(3,)] * 2 + [()]


class Network(chainer.Chain):
    """Some parameters of which one may have two names, and perhaps statistics over all processes."""

    def __init__(self, comm, seed):
        super().__init__()
        self.comm, self.seed = comm, seed
        rng = np.random.RandomState(seed)
        with self.init_scope():
            for i in range(rng.randint(2, 7)):
                value = rng.uniform(-1, 1, SHAPES[rng.randint(len(SHAPES))])
                setattr(self, f"p{i}", chainer.Parameter(np.asarray(value)))
            if rng.rand() < 0.4:
                self.normalize = ML.MultiNodeBatchNormalization(3, comm, dtype="d")
            if rng.rand() < 0.3:
                self.again = self.p0

    def forward(self, step):
        """A loss of random operations. Which parameters a process uses is random, too, but not in which order it
        communicates."""
        shared = np.random.RandomState(self.seed)
        own = np.random.RandomState(7 * self.seed + 3 * step + self.comm.rank)
        params = [param for name, param in sorted(self.namedparams()) if name.startswith("/p")]
        values = [chainer.Variable(own.uniform(-1, 1, (3, 3)))]
        for _ in range(shared.randint(3, 12)):
            param, value = params[shared.randint(len(params))], values[shared.randint(len(values))]
            p = param if own.rand() < 0.75 else param.array  # a number that is the same, without a gradient
            kind, other = shared.randint(8), values[shared.randint(len(values))]
            if kind == 0:
                value = value + F.broadcast_to(p, (3, 3))
            elif kind == 1:
                value = F.tanh(value * F.broadcast_to(p, (3, 3)))
            elif kind == 2 and p.ndim == 2:
                value = F.matmul(value, p)
            elif kind == 3 and p.ndim == 2:
                value = value + p + p.T  # one array is the gradient of both
            elif kind == 4 and hasattr(self, "normalize"):
                value = self.normalize(value)
            elif kind == 5:
                value = sum(MF.allgather(self.comm, value)) / 2
            elif kind == 6:
                value = value - other
            else:
                value = F.sin(value)
            values.append(value)
        return F.sum(0.3 * F.tanh(values[-1]) + 0.1 * F.tanh(values[-2]))


def train(early, late, first, second, manual):
    """Four steps; `manual` draws in which of them this process calls backward itself."""
    comm = early.comm
    for step in range(4):
        if manual.rand() < 0.2:
            loss = early(step)
            early.cleargrads()
            loss.backward()
            first.update()
        else:
            first.update(early, step)
        loss = late(step)
        late.cleargrads()
        loss.backward()
        if step:  # the first update copies the parameters
            for param in {id(param): param for param in late.params()}.values():
                grad = np.zeros_like(param.array) if param.grad is None else param.grad
                param.grad = np.asarray(comm.allreduce(grad) / comm.size)
            second.update()


def compare(comm, seeds):
    """Messages consist of a few numbers, so that most of them leave during backward."""
    sizes = reducing._FIRST, reducing._BYTES
    for seed in seeds:
        reducing._FIRST, reducing._BYTES = ((1, 1), (80, 100), (200, 500), sizes)[seed % 4]
        early, late = Network(comm, seed), Network(comm, seed)
        first = create_multi_node_optimizer(chainer.optimizers.MomentumSGD(0.1), comm).setup(early)
        second = chainer.optimizers.MomentumSGD(0.1).setup(late)
        for each in (first, second):
            each.add_hook(chainer.optimizer_hooks.GradientClipping(2.0))
        train(early, late, first, second, np.random.RandomState(11 * seed + comm.rank))
        for (name, p), (_, q) in zip(sorted(early.namedparams()), sorted(late.namedparams()), strict=True):
            np.testing.assert_allclose(p.array, q.array, 1e-9, 1e-12, err_msg=f"{name} of network {seed}")
    reducing._FIRST, reducing._BYTES = sizes
