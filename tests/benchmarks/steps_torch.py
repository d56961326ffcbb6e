"""The same training steps as torch programs; `steps_torch compiled` compiles them, with fused optimizers."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

from tests.benchmarks.worker import BATCHES, THREADS, serve

# whether losses are compiled, and what optimizers are told for that
COMPILED = sys.argv[1:] == ["compiled"]
FUSED = {"fused": True} if COMPILED else {}


def training_step(optimizer, lossfun, before_update=lambda: None):
    if COMPILED:
        lossfun = torch.compile(lossfun)

    def step():
        loss = lossfun()
        optimizer.zero_grad()
        loss.backward()
        before_update()
        optimizer.step()

    return step


def mlp(n_in, n_units, n_out, batchsize):
    model = nn.Sequential(
        nn.Linear(n_in, n_units), nn.ReLU(), nn.Linear(n_units, n_units), nn.ReLU(), nn.Linear(n_units, n_out)
    )
    x, t = torch.rand(batchsize, n_in), torch.randint(0, n_out, (batchsize,))
    return training_step(torch.optim.Adam(model.parameters(), **FUSED), lambda: F.cross_entropy(model(x), t))


def cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    )
    x, t = torch.rand(32, 1, 28, 28), torch.randint(0, 10, (32,))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, **FUSED)
    return training_step(optimizer, lambda: F.cross_entropy(model(x), t))


def lstm_lm():
    embed, lstm, out = nn.Embedding(200, 64), nn.LSTMCell(64, 64), nn.Linear(64, 200)
    params = [*embed.parameters(), *lstm.parameters(), *out.parameters()]
    xs, ts = torch.randint(0, 200, (20, 16)), torch.randint(0, 200, (20, 16))
    optimizer = torch.optim.SGD(params, 0.1, **FUSED)

    def lossfun():
        h = c = torch.zeros(16, 64)
        loss = 0
        for x, t in zip(xs, ts, strict=True):
            h, c = lstm(embed(x), (h, c))
            loss = loss + F.cross_entropy(out(h), t)
        return loss

    return training_step(optimizer, lossfun, lambda: nn.utils.clip_grad_norm_(params, 5))


def wgan_gp():
    model = nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Flatten(),
        nn.Linear(32 * 8 * 8, 1),
    )
    images = torch.rand(16, 3, 32, 32)

    def lossfun():
        x = images.clone().requires_grad_()
        y = model(x)
        (g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
        norm = (g * g).sum((1, 2, 3)).sqrt()
        return ((norm - 1) ** 2).mean() + y.mean()

    return training_step(torch.optim.Adam(model.parameters(), 1e-4, betas=(0.0, 0.9), **FUSED), lossfun)


def programs():
    """The functions that set up a step, by the names of the workloads."""
    found = {
        "mlp_tiny": lambda: mlp(32, 64, 10, 16),
        "mlp_mnist": lambda: mlp(784, 1000, 10, 100),
        "cnn": cnn,
        "lstm_lm": lstm_lm,
        "wgan_gp": wgan_gp,
        **{f"batch {n}": lambda n=n: mlp(784, 1000, 10, n) for n in BATCHES},
    }
    if COMPILED:
        del found["wgan_gp"]  # torch.compile does not differentiate twice
    return found


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    serve(programs())
