"""How long an operation on a few numbers takes, beside torch: what every operation costs besides its arithmetic."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

OPERATIONS = 200
_ROUNDS = 7
_NUMBERS = np.linspace(0.9, 1.0, 10, dtype=np.float32)


def _torch() -> Callable[[], None]:
    x, w = (torch.tensor(_NUMBERS, requires_grad=True) for _ in range(2))

    def step() -> None:
        y = x
        for _ in range(OPERATIONS // 2):
            y = torch.sin(y * w)
        y.sum().backward()
        x.grad = w.grad = None

    return step


def _chainer(chainer: Any) -> Callable[[], None]:
    functions = chainer.functions
    x, w = (chainer.Variable(_NUMBERS.copy()) for _ in range(2))

    def step() -> None:
        y = x
        for _ in range(OPERATIONS // 2):
            y = functions.sin(y * w)
        functions.sum(y).backward()
        x.cleargrad()
        w.cleargrad()

    return step


def _nnabla(nnabla: Any) -> Callable[[], None]:
    functions = nnabla.functions
    x, w = (nnabla.Variable.from_numpy_array(_NUMBERS).apply(need_grad=True) for _ in range(2))
    y = x
    for _ in range(OPERATIONS // 2):
        y = functions.sin(y * w)
    total = functions.sum(y)

    def step() -> None:
        total.forward()
        x.grad.zero()
        w.grad.zero()
        total.backward()

    return step


def _mxnet(mx: Any) -> Callable[[], None]:
    x, w = (mx.nd.array(_NUMBERS) for _ in range(2))
    x.attach_grad()
    w.attach_grad()

    def step() -> None:
        with mx.autograd.record():
            y = x
            for _ in range(OPERATIONS // 2):
                y = mx.nd.sin(y * w)
            total = y.sum()
        total.backward()

    return step


def measure(frontends: dict[str, Any]) -> dict[str, float]:
    """Microseconds per operation, forward and backward on one thread, by framework: medians of rounds in turns."""
    makers = {"chainer": _chainer, "nnabla": _nnabla, "mxnet": _mxnet}
    steps = {"torch": _torch(), **{name: makers[name](module) for name, module in frontends.items()}}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    times: dict[str, list[float]] = {name: [] for name in steps}
    try:
        for _ in range(_ROUNDS):
            for name, step in steps.items():
                step()  # loads the caches again with what the other frameworks have displaced
                start = time.perf_counter()
                step()
                times[name].append((time.perf_counter() - start) / OPERATIONS * 1e6)
    finally:
        torch.set_num_threads(threads)
    return {name: statistics.median(values) for name, values in times.items()}
