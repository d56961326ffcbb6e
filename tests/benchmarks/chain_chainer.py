"""The chain of small operations as a Chainer program."""

import chainer
import chainer.functions as F

from tests.benchmarks.chain import LENGTH, values, workloads
from tests.benchmarks.worker import serve

x = chainer.Variable(values(0))
w = chainer.Variable(values(1))


def forward(length=LENGTH):
    y = x
    sin = F.sin
    for _ in range(length // 2):
        y = y * w
        y = sin(y)
    return y


def forward_backward():
    F.sum(forward()).backward()
    x.cleargrad()
    w.cleargrad()


def grad_of_grad():
    y = F.sum(forward())
    (g,) = chainer.grad([y], [x], enable_double_backprop=True)
    F.sum(g * g).backward()
    x.cleargrad()
    w.cleargrad()


if __name__ == "__main__":

    def gradient(y, again):
        return chainer.grad([y], [x], enable_double_backprop=again)[0]

    serve(workloads(forward_backward, grad_of_grad, forward, F.sum, gradient))
