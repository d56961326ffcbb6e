"""Compares frontends' functions that share one op with torch's: `python -m tests.benchmarks.shared_ops`.

Prints milliseconds of CPU time for forward and backward, the minimum of 7 rounds in turns, and the median ratio to
torch.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as torch_functions

import compatgrad.nnabla as nn
from compatgrad import chainer, mxnet
from compatgrad.nnabla import functions as nnabla_functions

Steps = dict[str, Callable[[], object]]
F, mx, NF, TF = chainer.functions, mxnet, nnabla_functions, torch_functions
RNG = np.random.default_rng(0)


def floats(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(np.float32)


# Each function returns a step: f of arrays, forward and backward by all arrays.
def of_torch(f: Callable, *arrays: np.ndarray) -> Callable[[], object]:
    def step() -> None:
        xs = [torch.tensor(a, requires_grad=True) for a in arrays]
        f(*xs).sum().backward()

    return step


def of_chainer(f: Callable, *arrays: np.ndarray) -> Callable[[], object]:
    def step() -> None:
        F.sum(f(*[chainer.Variable(a) for a in arrays])).backward()

    return step


def of_mxnet(f: Callable, *arrays: np.ndarray) -> Callable[[], object]:
    xs: list[Any] = [mx.nd.array(a) for a in arrays]
    for x in xs:
        x.attach_grad()

    def step() -> None:
        with mx.autograd.record():
            y = f(*xs)
        y.backward()

    return step


def of_nnabla(f: Callable, *arrays: np.ndarray) -> Callable[[], object]:
    xs: list[Any] = [nn.Variable.from_numpy_array(a).apply(need_grad=True) for a in arrays]
    y = f(*xs)

    def step() -> None:
        for x in xs:
            x.grad.zero()
        y.forward()
        y.backward()

    return step


def ctc() -> Steps:
    steps, batch, classes, length = 50, 16, 30, 10
    x, t = floats(steps, batch, classes), RNG.integers(1, classes, (batch, length)).astype(np.int32)
    counts, lengths, short = (torch.full((batch,), n) for n in (steps, length, steps))
    short[0] = length // 2
    label = mx.nd.array(t)

    def chainer_ctc(*given: Any) -> Callable[[], object]:
        return of_chainer(lambda *xs: F.connectionist_temporal_classification(xs, t, 0, *given), *x)

    return {
        "torch log_softmax, ctc_loss": of_torch(
            lambda *xs: TF.ctc_loss(torch.stack(xs).log_softmax(2), torch.tensor(t), counts, lengths), *x
        ),
        "Chainer connectionist_temporal_classification": chainer_ctc(),
        "  a label needs more steps": chainer_ctc(short.numpy().astype(np.int32)),
        "MXNet CTCLoss": of_mxnet(lambda v: mx.nd.CTCLoss(v, label), x),
    }


def sampling() -> Steps:
    n, size = 8, 64
    x, grid = floats(n, 16, size, size), floats(n, 2, size, size, low=-1.1, high=1.1)
    last = np.ascontiguousarray(grid.transpose(0, 2, 3, 1))
    volume, points = floats(2, 8, 16, 32, 32), floats(2, 16, 32, 32, 3, low=-1.1, high=1.1)

    channels_last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))

    def read(**how: Any) -> Callable[[], object]:
        return of_torch(lambda x, g: TF.grid_sample(x, g, align_corners=True, **how), x, last)

    def warp(x: Any, g: Any, **how: Any) -> Any:
        return NF.warp_by_grid(x, g, align_corners=True, **how)

    return {
        "torch grid_sample": read(),
        "Chainer spatial_transformer_sampler": of_chainer(F.spatial_transformer_sampler, x, grid),
        "MXNet BilinearSampler": of_mxnet(mx.nd.BilinearSampler, x, grid),
        "nnabla warp_by_grid": of_nnabla(warp, x, last),
        "torch grid_sample, border": read(padding_mode="border"),
        "nnabla warp_by_grid, repeat": of_nnabla(lambda x, g: warp(x, g, padding_mode="repeat"), x, last),
        "nnabla warp_by_flow": of_nnabla(NF.warp_by_flow, x, grid * 3),
        "torch grid_sample, reflection": read(padding_mode="reflection"),
        "nnabla warp_by_grid, reflect": of_nnabla(lambda x, g: warp(x, g, padding_mode="reflect"), x, last),
        "torch grid_sample, channels last": of_torch(
            lambda x, g: TF.grid_sample(x.permute(0, 3, 1, 2), g, align_corners=True).permute(0, 2, 3, 1).contiguous(),
            channels_last,
            last,
        ),
        "nnabla warp_by_grid, channel_last": of_nnabla(lambda x, g: warp(x, g, channel_last=True), channels_last, last),
        "torch grid_sample, volumes": of_torch(lambda x, g: TF.grid_sample(x, g, align_corners=True), volume, points),
        "nnabla warp_by_grid, volumes": of_nnabla(warp, volume, points),
    }


def resizing() -> Steps:
    x, size = floats(8, 16, 48, 48), (96, 80)
    return {
        "torch interpolate": of_torch(lambda x: TF.interpolate(x, size=size, mode="bilinear", align_corners=True), x),
        "Chainer resize_images": of_chainer(lambda x: F.resize_images(x, size), x),
        "MXNet BilinearResize2D": of_mxnet(
            lambda x: mx.nd.contrib.BilinearResize2D(x, height=size[0], width=size[1]), x
        ),
        "nnabla interpolate": of_nnabla(lambda x: NF.interpolate(x, output_size=size, align_corners=True), x),
    }


def main() -> None:
    argparse.ArgumentParser(
        prog="python -m tests.benchmarks.shared_ops",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    torch.set_num_threads(1)
    for family in (ctc, sampling, resizing):
        steps = family()
        times: dict[str, list[float]] = {name: [] for name in steps}
        for turn in range(9):
            for name, step in steps.items():
                start = time.thread_time()
                step()
                if turn > 1:
                    times[name].append(1e3 * (time.thread_time() - start))
        base = ""
        for name, taken in times.items():
            base = name if name.startswith("torch") else base
            ratio = statistics.median(a / b for a, b in zip(taken, times[base], strict=True))
            print(f"{name:50}{min(taken):9.2f} ms{ratio:9.2f} x torch")


if __name__ == "__main__":
    main()
