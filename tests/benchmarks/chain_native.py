"""The chain of small operations on compatgrad's own API."""

import torch

import compatgrad
import compatgrad.ops as ops
from tests.benchmarks.chain import LENGTH, values, workloads
from tests.benchmarks.worker import THREADS, serve

torch.set_num_threads(THREADS)
x = compatgrad.Variable(torch.from_numpy(values(0)))
w = compatgrad.Variable(torch.from_numpy(values(1)))


def forward(length=LENGTH):
    y = x
    sin = ops.sin
    for _ in range(length // 2):
        y = y * w
        y = sin(y)
    return y


def forward_backward():
    ops.sum(forward()).backward()
    x.cleargrad()
    w.cleargrad()


def grad_of_grad():
    y = ops.sum(forward())
    (g,) = compatgrad.grad([y], [x], enable_double_backprop=True)
    ops.sum(g * g).backward()
    x.cleargrad()
    w.cleargrad()


if __name__ == "__main__":

    def gradient(y, again):
        return compatgrad.grad([y], [x], enable_double_backprop=again)[0]

    serve(workloads(forward_backward, grad_of_grad, forward, ops.sum, gradient))
