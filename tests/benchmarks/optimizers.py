"""python -m tests.benchmarks.optimizers [--only WORD...] [--large ELEMENTS] [--hooks]

Compares a step of update rules for all parameters of a model with torch's optimizers, in turns, on one thread. The
models are mlp_tiny (32-64-64-10) and one of --large elements. For Adam, torch's default and fused versions are run.
With --hooks, it compares Adam after changes of the gradients with Adam alone, and with torch's functions.
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


def of_torch(cls: type, change: Callable[[list[torch.nn.Parameter]], object] | None = None, **options):
    """`change`: what happens to the gradients first."""

    def make(shapes: list[tuple[int, ...]], device: str = "cpu") -> Callable[[], object]:
        params = [torch.nn.Parameter(x) for x in tensors(shapes, device)]
        for param in params:
            param.grad = torch.randn_like(param)
        step = cls(params, **options).step
        return step if change is None else lambda: (change(params), step())

    return make


def of_chainer(cls: type, *hooks: object, **options):
    def make(shapes, device="cpu"):
        link = chainer.Link()
        with link.init_scope():
            for i, x in enumerate(tensors(shapes)):
                setattr(link, f"p{i}", chainer.Parameter(x.numpy()))
        if device == "cuda":
            link.to_device("@cupy:0")
        for param in link.params():
            param.grad = param.device.send(torch.randn(param.shape).numpy())
        optimizer = cls(**options).setup(link)
        for hook in hooks:
            optimizer.add_hook(hook)
        return optimizer.update

    return make


def of_nnabla(cls: type, change: Callable[[object], object] | None = None, **options):
    def make(shapes, device="cpu"):
        params = {}
        for i, x in enumerate(tensors(shapes, device)):
            params[str(i)] = param = nn.Variable(x.shape, need_grad=True)
            param.data.tensor, param.grad.tensor = x, torch.randn_like(x)
        solver = cls(**options)
        solver.set_parameters(params)
        return solver.update if change is None else lambda: (change(solver), solver.update())

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
RATE, NORM, BOUND = 1e-4, 1.0, 0.5
H, clip = chainer.optimizer_hooks, torch.nn.utils
FUSED = {"cls": T.Adam, "fused": True}


def lasso(params: list[torch.nn.Parameter]) -> None:
    grads = [param.grad for param in params]
    torch._foreach_add_(grads, torch._foreach_sign([param.detach() for param in params]), alpha=RATE)


def noise(params: list[torch.nn.Parameter]) -> None:
    for param in params:
        param.grad += torch.randn_like(param) * RATE


# change -> {library: function that makes a step of Adam after it}
CHANGES = {
    "none": {name: ROWS["Adam"][name] for name in ("Chainer", "nnabla", "MXNet", "torch fused")},
    "decay": {
        "Chainer": of_chainer(CH.Adam, H.WeightDecay(RATE)),
        "nnabla": of_nnabla(S.Adam, lambda solver: solver.weight_decay(RATE)),
        "MXNet": of_mxnet("adam", wd=RATE),
        "torch fused": of_torch(weight_decay=RATE, **FUSED),
    },
    "norm": {
        "Chainer": of_chainer(CH.Adam, H.GradientClipping(NORM)),
        "nnabla": of_nnabla(S.Adam, lambda solver: solver.clip_grad_by_norm(NORM)),
        "torch fused": of_torch(change=lambda params: clip.clip_grad_norm_(params, NORM), **FUSED),
    },
    "norm, decay": {
        "Chainer": of_chainer(CH.Adam, H.GradientClipping(NORM), H.WeightDecay(RATE)),
        "nnabla": of_nnabla(S.Adam, lambda solver: (solver.clip_grad_by_norm(NORM), solver.weight_decay(RATE))),
        "torch fused": of_torch(change=lambda params: clip.clip_grad_norm_(params, NORM), weight_decay=RATE, **FUSED),
    },
    "scale, bounds, decay": {
        "Chainer": of_chainer(CH.Adam, H.GradientHardClipping(-BOUND, BOUND), H.WeightDecay(RATE)),
        "MXNet": of_mxnet("adam", rescale_grad=0.5, clip_gradient=BOUND, wd=RATE),
        "torch fused": of_torch(change=lambda params: clip.clip_grad_value_(params, BOUND), weight_decay=RATE, **FUSED),
    },
    "lasso": {
        "Chainer": of_chainer(CH.Adam, H.Lasso(RATE)),
        "torch fused": of_torch(change=lasso, **FUSED),
    },
    "noise": {
        "Chainer": of_chainer(CH.Adam, H.GradientNoise(RATE)),
        "torch fused": of_torch(change=noise, **FUSED),
    },
}


def seconds(step: Callable[[], object], repeat: int) -> float:
    begun = time.thread_time()  # excludes the time of other programs
    for _ in range(repeat):
        step()
    return (time.thread_time() - begun) / repeat


def measured(steps: dict[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """The seconds of each step in each round, in which all have their turn."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for round in range(ROUNDS + 2):  # the first two warm up
        for name, step in steps.items():
            taken = seconds(step, repeat)
            if round >= 2:
                times[name].append(taken)
    return times


def ratio(times: list[float], others: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(times, others, strict=True))


def compare_changes(model: str, shapes: list[tuple[int, ...]], repeat: int, only: list[str] | None) -> None:
    for change in list(CHANGES)[1:]:
        if only and change not in only:
            continue
        steps = {name: make(shapes) for name, make in CHANGES[change].items()}
        alone = {f"{name} alone": CHANGES["none"][name](shapes) for name in steps}
        times = measured({**steps, **alone}, repeat)
        for name in steps:
            parts = [
                f"{statistics.median(times[name]) * 1e6:>12.1f} us",
                f"{ratio(times[name], times[f'{name} alone']):.2f} of alone",
            ]
            if name != "torch fused":
                parts.append(f"{ratio(times[name], times['torch fused']):.2f} of torch")
            print(f"{change:<22}{model:<10}{name:<12}{', '.join(parts)}", flush=True)


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
    parser.add_argument("--hooks", action="store_true", help="Adam after changes of the gradients")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"CPU, one thread, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}, medians of {ROUNDS} rounds")
    models = {"mlp_tiny": (TINY, 200), f"{args.large / 1e6:g} M": ([(args.large // 10,)] * 10, 1)}
    for model, (shapes, repeat) in models.items() if args.hooks else ():
        compare_changes(model, shapes, repeat, args.only)
    for rule, makers in () if args.hooks else ROWS.items():
        if args.only and rule not in args.only:
            continue
        for model, (shapes, repeat) in models.items():
            times = measured({name: make(shapes) for name, make in makers.items()}, repeat)
            for name in [name for name in times if not name.startswith("torch")]:
                ratios = [
                    f"{ratio(times[name], times[other]):.3f} of {other}" for other in times if other.startswith("torch")
                ]
                own = statistics.median(times[name]) * 1e6
                print(f"{rule:<10}{model:<10}{name:<9}{own:>12.1f} us  {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
