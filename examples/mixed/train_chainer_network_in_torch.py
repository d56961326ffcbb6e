"""Trains a Chainer network in a torch program, exports it to torch.fx and compiles it, with equal outputs.

    python -m compatgrad run examples/mixed/train_chainer_network_in_torch.py

The network is a chainer.Chain that `interop.as_torch_module` makes a torch.nn.Module. Everything else is torch's: the
DataLoader, the loss, AdamW, the learning-rate schedule, the file. `interop.export` then returns a torch.fx.GraphModule
that does not use Chainer, and `interop.compile` compiles the network by torch.compile.
"""

import os
import tempfile
import time

import chainer
import chainer.functions as F
import chainer.links as L
import digits
import options
import torch
from torch.utils.data import DataLoader, TensorDataset

from compatgrad import interop

SIZES = (50, 297, 1)  # batch sizes for the comparison of outputs


class Network(chainer.Chain):
    """Scores (n, 10) of images (n, 1, 8, 8)."""

    def __init__(self, width, dropout):
        super().__init__()
        self.dropout = dropout
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, width, ksize=3, pad=1, nobias=True)
            self.norm1 = L.BatchNormalization(width)
            self.conv2 = L.Convolution2D(width, 2 * width, ksize=3, pad=1, nobias=True)
            self.norm2 = L.BatchNormalization(2 * width)
            self.out = L.Linear(None, 10)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.norm1(self.conv1(x))), 2)
        h = F.average_pooling_2d(F.relu(self.norm2(self.conv2(h))), 2)
        return self.out(F.dropout(h, self.dropout))


def module_of(args, example):
    """The network as a torch module, with new parameters."""
    return interop.as_torch_module(Network(args.width, args.dropout), example_inputs=[example])


def evaluate(model, x, t):
    with torch.no_grad():
        y = model(x)
    return torch.nn.functional.cross_entropy(y, t).item(), (y.argmax(1) == t).float().mean().item()


def train(model, train_set, test_set, args):
    """Trains the module, with torch only; returns the curves."""
    loader = DataLoader(train_set, args.batchsize, shuffle=True, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epoch * len(loader))
    curves = {"loss": [], "test loss": [], "test accuracy": []}
    print("epoch  learning rate      loss  test loss  test accuracy")
    for epoch in range(1, args.epoch + 1):
        model.train()
        losses = []
        for x, t in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), t)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        model.eval()
        values = [sum(losses) / len(losses), *evaluate(model, *test_set.tensors)]
        for curve, value in zip(curves.values(), values, strict=True):
            curve.append(value)
        print(
            "{:5d}  {:13.6f}  {:8.5f}  {:9.5f}  {:13.3f}".format(epoch, schedule.get_last_lr()[0], *values), flush=True
        )
    return curves


def largest_difference(model, other, x, tolerance):
    """The largest difference between the outputs on batches of several sizes."""
    differences = []
    with torch.no_grad():
        for size in SIZES:
            y, z = model(x[:size]), other(x[:size])
            difference = (y - z).abs().max().item()
            assert y.shape == z.shape and difference <= tolerance * y.abs().max(), (
                f"batch of {size}: {difference} apart"
            )
            differences.append(difference)
    return max(differences)


def milliseconds(model, x, repeat=20):
    with torch.no_grad():
        model(x)
        start = time.perf_counter()
        for _ in range(repeat):
            model(x)
    return (time.perf_counter() - start) / repeat * 1e3


def main():
    p = options.parser(__doc__, epoch=8, batchsize=50, lr=0.01)
    p.add_argument("--width", "-w", type=int, default=16, help="channels of the first convolution")
    p.add_argument("--dropout", "-d", type=float, default=0.2, help="share of the features that are dropped")
    p.add_argument("--backend", default="inductor", help="backend of torch.compile; aot_eager needs no C++ compiler")
    p.add_argument("--out", "-o", metavar="FOLDER", help="keep the state dict model.pt in this folder")
    args = p.parse_args()
    options.start(args)

    train_set, test_set = (TensorDataset(torch.from_numpy(x), torch.from_numpy(t).long()) for x, t in digits.arrays())
    x, t = test_set.tensors
    model = module_of(args, x[:1])
    curves = train(model, train_set, test_set, args)

    with tempfile.TemporaryDirectory() as temporary:
        folder = args.out or temporary
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "model.pt")
        torch.save(model.state_dict(), path)
        loaded = module_of(args, x[:1])
        loaded.load_state_dict(torch.load(path))
    loaded.eval()

    exported = interop.export(model, x[:50])  # an example, whose first dimension is the batch
    compiled = interop.compile(model, backend=args.backend)
    calls = [str(node.target) for node in exported.graph.nodes]
    calls = [name.removeprefix("aten.").partition(".")[0] for name in calls if name.startswith("aten.")]
    print(f"exported to {len(calls)} calls of ATen: {', '.join(calls)}")
    others = [("loaded from its state dict", loaded, 0), ("exported", exported, 1e-6), ("compiled", compiled, 1e-5)]
    for name, other, tolerance in others:
        difference = largest_difference(model, other, x, tolerance)
        print(f"{name}: at batch sizes {SIZES} outputs differ by {difference:.1e} at most")
    for name, other in [("Chainer's code", model), ("exported", exported), ("compiled", compiled)]:
        print(f"{name}: {milliseconds(other, x):.2f} ms for {len(x)} images")

    if args.plot:
        options.plot(args.plot, curves)


if __name__ == "__main__":
    main()
