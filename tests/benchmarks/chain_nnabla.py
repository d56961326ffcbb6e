"""The chain of small operations as an nnabla program.

python -m tests.benchmarks.chain_nnabla static|dynamic
"""

import sys

import nnabla as nn
import nnabla.functions as F

from tests.benchmarks.chain import LENGTH, values
from tests.benchmarks.worker import serve

x = nn.Variable.from_numpy_array(values(0), need_grad=True)
w = nn.Variable.from_numpy_array(values(1), need_grad=True)


def forward():
    y = x
    sin = F.sin
    for _ in range(LENGTH // 2):
        y = y * w
        y = sin(y)
    return y


def backward(y):
    x.grad.zero()
    w.grad.zero()
    y.backward()


def squared_gradient():
    (g,) = nn.grad([F.sum(forward())], [x])
    return F.sum(g * g)


def static(build):
    """A step on a static graph."""
    y = build()

    def step():
        y.forward()
        backward(y)

    return step


def dynamic(build):
    """A step that builds a dynamic graph (auto_forward)."""
    nn.set_auto_forward(True)
    return lambda: backward(build())


if __name__ == "__main__":
    mode = {"static": static, "dynamic": dynamic}[sys.argv[1]]
    serve({"chain fb": lambda: mode(lambda: F.sum(forward())), "chain dbl": lambda: mode(squared_gradient)})
