"""The cost of a call across the boundary to torch on small tensors: `python -m tests.benchmarks.boundary`.

Prints microseconds of CPU time, the minimum of several rounds, for a linear layer from 3 to 4 units on 5 rows: a torch
module by itself and inside the engine (`interop.call`), a Chainer link by itself and as a torch module
(`as_torch_module`). The latter runs in torch's own pass, so it is also compared with the torch module.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

import compatgrad
from compatgrad import interop


def microseconds(call: Callable[[], object], rounds: int = 15, calls: int = 500) -> float:
    """The CPU time of one call, the minimum over rounds."""
    for _ in range(calls):
        call()
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(calls):
            call()
        best = min(best, (time.thread_time() - start) / calls)
    return 1e6 * best


def main() -> None:
    argparse.ArgumentParser(
        prog="python -m tests.benchmarks.boundary",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    from compatgrad import chainer
    from compatgrad.chainer import links as L

    torch.set_num_threads(1)
    layer, link = torch.nn.Linear(3, 4), L.Linear(3, 4)
    module = interop.as_torch_module(link)
    t, g = torch.zeros(5, 3, requires_grad=True), torch.ones(5, 4)
    x, v = chainer.Variable(np.zeros((5, 3), "f")), compatgrad.Variable(torch.zeros(5, 3))
    ones = np.ones((5, 4), "f")

    def back(y: torch.Tensor) -> None:
        torch.autograd.backward(y, g)

    def link_back() -> None:
        y = link(x)
        y.grad = ones
        y.backward()

    def call_back() -> None:
        y = interop.call(layer, v)
        y.grad = g
        y.backward()

    rows = {
        "torch module": (lambda: layer(t), lambda: back(layer(t))),
        "the same by interop.call": (lambda: interop.call(layer, v), call_back),
        "Chainer link": (lambda: link(x), link_back),
        "the same by as_torch_module": (lambda: module(t), lambda: back(module(t))),
    }
    print(f"{'':30}{'forward':>10}{'and backward':>15}   us")
    for name, (forward, both) in rows.items():
        print(f"{name:30}{microseconds(forward):>10.1f}{microseconds(both):>15.1f}")


if __name__ == "__main__":
    main()
