"""Training steps in several processes beside torch's DistributedDataParallel:

    python -m compatgrad launch -n 2 -m tests.benchmarks.processes [--samples N] [WORKLOAD ...]

Prints, for each workload, the medians of the wall-clock time of a step, by rank 0: with ChainerMN's optimizer, with
DistributedDataParallel, and of this process alone, in both; and what part of the time of communication is hidden, which
is 1 - (step - alone) / communication. The kinds of step take turns. With one process, which needs no `launch`: a step
with a communicator beside one without.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import numpy as np
import torch
import torch.nn.functional as TF
from torch import nn


def mlp_mnist(random):
    units = 1000
    net = chainer.Sequential(L.Linear(784, units), F.relu, L.Linear(units, units), F.relu, L.Linear(units, 10))
    twin = nn.Sequential(nn.Linear(784, units), nn.ReLU(), nn.Linear(units, units), nn.ReLU(), nn.Linear(units, 10))
    return net, twin, random.rand(100, 784)


def cnn(random):
    net = chainer.Sequential(
        L.Convolution2D(1, 16, 3, pad=1), L.BatchNormalization(16), F.relu, lambda x: F.max_pooling_2d(x, 2),
        L.Convolution2D(16, 32, 3, pad=1), F.relu, lambda x: F.max_pooling_2d(x, 2), L.Linear(32 * 49, 10),
    )  # fmt: skip
    twin = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10),
    )  # fmt: skip
    return net, twin, random.rand(32, 1, 28, 28)


class _TorchLanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.out = nn.Embedding(200, 64), nn.LSTMCell(64, 64), nn.Linear(64, 200)

    def forward(self, xs):
        h = c = torch.zeros(xs.shape[1], 64)
        ys = []
        for x in xs:
            h, c = self.lstm(self.embed(x), (h, c))
            ys.append(self.out(h))
        return torch.cat(ys)


class _LanguageModel(chainer.Chain):
    def __init__(self):
        super().__init__(embed=L.EmbedID(200, 64), lstm=L.LSTM(64, 64), out=L.Linear(64, 200))

    def forward(self, xs):
        self.lstm.reset_state()
        return F.concat([self.out(self.lstm(self.embed(x))) for x in xs], axis=0)


def lstm_lm(random):
    return _LanguageModel(), _TorchLanguageModel(), random.randint(0, 200, (20, 16))


WORKLOADS = {workload.__name__: workload for workload in (mlp_mnist, cnn, lstm_lm)}


def steps(name, comm) -> dict[str, Callable[[], object]]:
    """Kind of step -> a function that runs it."""
    random = np.random.RandomState(comm.rank)
    net, twin, x = WORKLOADS[name](random)
    kind = np.float32 if x.dtype.kind == "f" else np.int32
    x, t = x.astype(kind), random.randint(0, 10, x.size if kind == np.int32 else len(x)).astype("i")
    found = {}
    for label in ("chainermn", "alone"):
        model = L.Classifier(net.copy(mode="init"))
        model.compute_accuracy = False
        optimizer = chainer.optimizers.SGD(0.01)
        if label == "chainermn":
            optimizer = chainermn.create_multi_node_optimizer(optimizer, comm)
        optimizer.setup(model)
        found[label] = lambda model=model, optimizer=optimizer: optimizer.update(model, x, t)
    if comm.size == 1:
        return found
    tx, tt = torch.from_numpy(x), torch.from_numpy(t).long()
    other = type(twin)(*twin) if isinstance(twin, nn.Sequential) else type(twin)()
    for label, module in (("ddp", nn.parallel.DistributedDataParallel(twin)), ("torch alone", other)):
        optimizer = torch.optim.SGD(module.parameters(), 0.01)

        def step(module=module, optimizer=optimizer):
            optimizer.zero_grad()
            TF.cross_entropy(module(tx), tt).backward()
            optimizer.step()

        found[label] = step
    gradients = [torch.zeros(p.shape) for p in twin.parameters()]
    found["communication"] = lambda: torch.distributed.all_reduce(torch.cat([g.reshape(-1) for g in gradients]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; all if none is named")
    parser.add_argument("--samples", type=int, default=30, help="how often each kind is timed, 30 if not given")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    chainer.disable_experimental_feature_warning = True
    comm = chainermn.create_communicator("pure_nccl")
    for name in options.workloads or WORKLOADS:
        kinds = steps(name, comm)
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        for sample in range(options.samples + 3):
            for kind, step in kinds.items():
                comm.mpi_comm.barrier()
                start = time.perf_counter()
                for _ in range(3):
                    step()
                if sample > 2:  # the first ones warm up
                    times[kind].append((time.perf_counter() - start) / 3)
        if comm.rank == 0:
            _print(name, times)


def _print(name, times) -> None:
    middle = {kind: statistics.median(values) for kind, values in times.items()}
    print(name, ", ".join(f"{kind} {1000 * value:.2f} ms" for kind, value in middle.items()))
    for kind, other in (("chainermn", "ddp"), ("chainermn", "alone")):
        if other in times:
            ratio = statistics.median(a / b for a, b in zip(times[kind], times[other], strict=True))
            print(f"  {kind} / {other}: {ratio:.3f}")
    if "ddp" in times:
        for kind, alone in (("chainermn", "alone"), ("ddp", "torch alone")):
            hidden = 1 - (middle[kind] - middle[alone]) / middle["communication"]
            print(f"  part of the communication that {kind} hides: {hidden:.2f}")


if __name__ == "__main__":
    main()
