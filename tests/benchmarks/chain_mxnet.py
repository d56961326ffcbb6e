"""The chain of small operations as an MXNet program."""

import time

from mxnet import autograd, nd

from tests.benchmarks.chain import LENGTH, values
from tests.benchmarks.worker import serve

x = nd.array(values(0))
w = nd.array(values(1))
x.attach_grad()
w.attach_grad()


def forward():
    y = x
    sin = nd.sin
    for _ in range(LENGTH // 2):
        y = y * w
        y = sin(y)
    return y


def forward_backward():
    with autograd.record():
        y = forward().sum()
    y.backward()
    x.grad.wait_to_read()
    w.grad.wait_to_read()


def grad_of_grad():
    with autograd.record():
        (g,) = autograd.grad(forward().sum(), [x], create_graph=True)
        y = (g * g).sum()
    y.backward()
    x.grad.wait_to_read()
    w.grad.wait_to_read()


if __name__ == "__main__":
    serve({"chain fb": lambda: forward_backward, "chain dbl": lambda: grad_of_grad}, time.perf_counter)
