"""The chain of small operations on torch's autograd."""

import torch

from tests.benchmarks.chain import LENGTH, values, workloads
from tests.benchmarks.worker import THREADS, serve

x = torch.from_numpy(values(0)).requires_grad_()
w = torch.from_numpy(values(1)).requires_grad_()


def forward(length=LENGTH):
    y = x
    sin = torch.sin
    for _ in range(length // 2):
        y = y * w
        y = sin(y)
    return y


def forward_backward():
    forward().sum().backward()
    x.grad = w.grad = None


def grad_of_grad():
    y = forward().sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (g * g).sum().backward()
    x.grad = w.grad = None


if __name__ == "__main__":
    torch.set_num_threads(THREADS)

    def gradient(y, again):
        return torch.autograd.grad(y, x, create_graph=again)[0]

    serve(workloads(forward_backward, grad_of_grad, forward, torch.sum, gradient))
