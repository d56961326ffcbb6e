"""python -m tests.benchmarks.optimizers [--only WORD...] [--large ELEMENTS]

Compares a step of update rules for all parameters of a model with torch's optimizers, in turns, on one thread. The
models are mlp_tiny (32-64-64-10) and one of --large elements. For Adam, torch's default and fused versions are run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.solver as S

ROUNDS = 15
TINY = [(64, 32), (64,), (64, 64), (64,), (10, 64), (10,)]


def tensors(shapes: list[tuple[int, ...]], device: str = "cpu") -> list[torch.Tensor]:
    return [torch.randn(shape, device=device) for shape in shapes]


def of_torch(cls: type, **options):
    def make(shapes: list[tuple[int, ...]], device: str = "cpu") -> Callable[[], object]:
        params = [torch.nn.Parameter(x) for x in tensors(shapes, device)]
        for param in params:
            param.grad = torch.randn_like(param)
        return cls(params, **options).step

    return make


def of_chainer(cls: type, **options):
    def make(shapes, device="cpu"):
        link = chainer.Link()
        with link.init_scope():
            for i, x in enumerate(tensors(shapes)):
                setattr(link, f"p{i}", chainer.Parameter(x.numpy()))
        if device == "cuda":
            link.to_device("@cupy:0")
        for param in link.params():
            param.grad = param.device.send(torch.randn(param.shape).numpy())
        return cls(**options).setup(link).update

    return make


def of_nnabla(cls: type, **options):
    def make(shapes, device="cpu"):
        params = {}
        for i, x in enumerate(tensors(shapes, device)):
            params[str(i)] = param = nn.Variable(x.shape, need_grad=True)
            param.data.tensor, param.grad.tensor = x, torch.randn_like(x)
        solver = cls(**options)
        solver.set_parameters(params)
        return solver.update

    return make


def of_mxnet(name: str, **options):
    def make(shapes, device="cpu"):
        ctx = mx.gpu(0) if device == "cuda" else mx.cpu()
        weights = tuple([mx.nd.array(x.numpy(), ctx=ctx) for x in tensors(shapes)])
        grads = [mx.nd.array(x.numpy(), ctx=ctx) for x in tensors(shapes)]
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, **options))
        indices = tuple(range(len(weights)))
        return lambda: updater(indices, grads, weights)

    return make


CH, T = chainer.optimizers, torch.optim
# rule -> {library: function that makes a step}; the first library is compared with each of the others
ROWS = {
    "Adam": {
        "Chainer": of_chainer(CH.Adam),
        "nnabla": of_nnabla(S.Adam),
        "MXNet": of_mxnet("adam"),
        "torch": of_torch(T.Adam),
        "torch fused": of_torch(T.Adam, fused=True),
    },
    "SGD": {
        "Chainer": of_chainer(CH.SGD),
        "nnabla": of_nnabla(S.Sgd),
        "MXNet": of_mxnet("sgd"),
        "torch": of_torch(T.SGD),
        "torch fused": of_torch(T.SGD, fused=True),
    },
    "momentum": {
        "Chainer": of_chainer(CH.MomentumSGD),
        "nnabla": of_nnabla(S.Momentum),
        "MXNet": of_mxnet("sgd", momentum=0.9),
        "torch": of_torch(T.SGD, momentum=0.9),
        "torch fused": of_torch(T.SGD, momentum=0.9, fused=True),
    },
    "RMSprop": {
        "Chainer": of_chainer(CH.RMSprop),
        "nnabla": of_nnabla(S.RMSprop),
        "MXNet": of_mxnet("rmsprop"),
        "torch": of_torch(T.RMSprop),
    },
}


def seconds(step: Callable[[], object], repeat: int) -> float:
    begun = time.thread_time()  # excludes the time of other programs
    for _ in range(repeat):
        step()
    return (time.thread_time() - begun) / repeat


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.optimizers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="these update rules alone, by name")
    parser.add_argument(
        "--large", type=int, default=50_000_000, metavar="ELEMENTS", help="parameters of the large model (50000000)"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"CPU, one thread, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}, medians of {ROUNDS} rounds")
    models = {"mlp_tiny": (TINY, 200), f"{args.large / 1e6:g} M": ([(args.large // 10,)] * 10, 1)}
    for rule, makers in ROWS.items():
        if args.only and rule not in args.only:
            continue
        for model, (shapes, repeat) in models.items():
            steps = {name: make(shapes) for name, make in makers.items()}
            times: dict[str, list[float]] = {name: [] for name in steps}
            for round in range(ROUNDS + 2):  # the first two warm up
                for name, step in steps.items():
                    taken = seconds(step, repeat)
                    if round >= 2:
                        times[name].append(taken)
            for name in [name for name in steps if not name.startswith("torch")]:
                ratios = [
                    f"{statistics.median(a / b for a, b in zip(times[name], times[other], strict=True)):.3f} of {other}"
                    for other in steps
                    if other.startswith("torch")
                ]
                own = statistics.median(times[name]) * 1e6
                print(f"{rule:<10}{model:<10}{name:<9}{own:>12.1f} us  {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
