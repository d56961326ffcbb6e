"""Training steps as nnabla programs.

python -m tests.benchmarks.steps_nnabla static|dynamic
"""

import sys

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np

from tests.benchmarks.worker import serve

random = np.random.RandomState(0)


def floats(*shape):
    return nn.Variable.from_numpy_array(random.rand(*shape).astype(np.float32))


def labels(n_classes, *shape):
    return nn.Variable.from_numpy_array(random.randint(0, n_classes, shape).astype(np.int32))


def static(build, solver, clip=None):
    """A step on a static graph."""
    nn.clear_parameters()
    loss = build()
    solver.set_parameters(nn.get_parameters())

    def step():
        loss.forward(clear_no_need_grad=True)
        solver.zero_grad()
        loss.backward(clear_buffer=True)
        if clip:
            solver.clip_grad_by_norm(clip)
        solver.update()

    return step


def dynamic(build, solver, clip=None):
    """A step that builds a dynamic graph (auto_forward)."""
    nn.clear_parameters()
    nn.set_auto_forward(True)
    build()
    solver.set_parameters(nn.get_parameters())

    def step():
        loss = build()
        solver.zero_grad()
        loss.backward(clear_buffer=True)
        if clip:
            solver.clip_grad_by_norm(clip)
        solver.update()

    return step


def mlp(step, n_in, n_units, n_out, batchsize):
    x, t = floats(batchsize, n_in), labels(n_out, batchsize, 1)

    def build():
        h = F.relu(PF.affine(x, n_units, name="l1"))
        h = F.relu(PF.affine(h, n_units, name="l2"))
        return F.mean(F.softmax_cross_entropy(PF.affine(h, n_out, name="l3"), t))

    return step(build, S.Adam())


def cnn(step):
    x, t = floats(32, 1, 28, 28), labels(10, 32, 1)

    def build():
        h = PF.batch_normalization(PF.convolution(x, 16, (3, 3), pad=(1, 1), name="conv1"), name="bn1")
        h = F.max_pooling(F.relu(h), (2, 2))
        h = F.relu(PF.convolution(h, 32, (3, 3), pad=(1, 1), name="conv2"))
        return F.mean(F.softmax_cross_entropy(PF.affine(F.max_pooling(h, (2, 2)), 10, name="fc"), t))

    return step(build, S.Momentum(0.01))


def lstm_lm(step):
    xs = [labels(200, 16) for _ in range(20)]
    ts = [labels(200, 16, 1) for _ in range(20)]
    zero = nn.Variable.from_numpy_array(np.zeros((16, 64), np.float32))

    def build():
        h = c = zero
        loss = 0
        for x, t in zip(xs, ts):  # noqa: B905
            h, c = PF.lstm_cell(PF.embed(x, 200, 64, name="embed"), h, c, 64, name="lstm")
            loss += F.mean(F.softmax_cross_entropy(PF.affine(h, 200, name="out"), t))
        return loss

    return step(build, S.Sgd(0.1), clip=5)


def wgan_gp(step):
    x = floats(16, 3, 32, 32).apply(need_grad=True)

    def build():
        h = F.leaky_relu(PF.convolution(x, 16, (4, 4), pad=(1, 1), stride=(2, 2), name="conv1"), 0.2)
        h = F.leaky_relu(PF.convolution(h, 32, (4, 4), pad=(1, 1), stride=(2, 2), name="conv2"), 0.2)
        y = PF.affine(h, 1, name="fc")
        (g,) = nn.grad([y], [x])
        norm = F.sum(g * g, axis=(1, 2, 3)) ** 0.5
        return F.mean((norm - 1) ** 2) + F.mean(y)

    return step(build, S.Adam(1e-4, beta1=0.0, beta2=0.9))


if __name__ == "__main__":
    mode = {"static": static, "dynamic": dynamic}[sys.argv[1]]
    serve(
        {
            "mlp_tiny": lambda: mlp(mode, 32, 64, 10, 16),
            "mlp_mnist": lambda: mlp(mode, 784, 1000, 10, 100),
            "cnn": lambda: cnn(mode),
            "lstm_lm": lambda: lstm_lm(mode),
            "wgan_gp": lambda: wgan_gp(mode),
        }
    )
