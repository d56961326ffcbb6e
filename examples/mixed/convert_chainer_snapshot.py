"""Converts a Chainer snapshot to the state of a torch module, with equal predictions.

    python -m compatgrad run examples/mixed/convert_chainer_snapshot.py

A Chainer trainer learns handwritten digits and saves a snapshot, as usual in Chainer programs. `convert` extracts the
model from it, with the torch module's names of parameters, and the module loads them. Except for the training, all this
also works with a snapshot that the original Chainer wrote.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import chainer
import chainer.functions as F
import chainer.links as L
import digits
import numpy as np
import torch
from chainer.training import extensions

from compatgrad import interop


class Network(chainer.Chain):
    """The network in a Chainer program."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 8, ksize=3)
            self.norm = L.BatchNormalization(8)
            self.hidden = L.Linear(None, 32)
            self.out = L.Linear(32, 10)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.norm(self.conv(x))), 2)
        return self.out(F.relu(self.hidden(h)))


class Module(torch.nn.Module):
    """The same network in torch."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8, eps=2e-5)  # Chainer's default
        self.hidden = torch.nn.Linear(72, 32)
        self.out = torch.nn.Linear(32, 10)

    def forward(self, x):
        h = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.out(torch.relu(self.hidden(h.flatten(1))))


# Names of parameters in Chainer's links and in torch's modules.
LAYERS = {"W": "weight", "b": "bias"}
NORM = {"gamma": "weight", "beta": "bias", "avg_mean": "running_mean", "avg_var": "running_var"}
NAMES = {f"{layer}/{old}": f"{layer}.{new}" for layer in ("conv", "hidden", "out") for old, new in LAYERS.items()}
NAMES |= {f"norm/{old}": f"norm.{new}" for old, new in {**NORM, "N": "num_batches_tracked"}.items()}


def train(x, t, epochs, folder):
    """Trains the Chainer network; returns it and the path of the last snapshot."""
    model = L.Classifier(Network())
    optimizer = chainer.optimizers.Adam(alpha=0.003).setup(model)
    iterator = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 50)
    updater = chainer.training.StandardUpdater(iterator, optimizer)
    trainer = chainer.training.Trainer(updater, (epochs, "epoch"), out=folder)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(["epoch", "main/loss", "main/accuracy"]))
    trainer.extend(extensions.snapshot(filename="snapshot_{.updater.iteration}"))
    trainer.run()
    return model.predictor, os.path.join(folder, f"snapshot_{updater.iteration}")


def convert(snapshot, target):
    """Writes the model in the snapshot to `target`, by the command line."""
    command = [sys.executable, "-m", "compatgrad", "convert", snapshot, target, "--force"]
    command += ["--prefix", "updater/model:main/predictor"]
    for old, new in NAMES.items():
        command += ["--map", f"{old}={new}"]
    subprocess.run(command, check=True)


def main():
    parser = argparse.ArgumentParser(description="From a Chainer snapshot to a torch module")
    parser.add_argument("--epoch", "-e", type=int, default=3, help="number of epochs")
    parser.add_argument("--seed", "-s", type=int, default=0, help="random seed")
    parser.add_argument("--out", "-o", help="keep the snapshot and model.safetensors in this folder")
    args = parser.parse_args()
    np.random.seed(args.seed)
    train_set, (x, t) = digits.arrays()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.out or temporary
        network, snapshot = train(*train_set, args.epoch, folder)
        target = os.path.join(folder, "model.safetensors")
        convert(snapshot, target)
        module = Module()
        module.load_state_dict(interop.read_parameters(target))  # or safetensors.torch.load_file(target)
    module.eval()

    with chainer.using_config("train", False), chainer.no_backprop_mode():
        legacy = network(x).array
    with torch.no_grad():
        new = module(torch.from_numpy(x)).numpy()
    difference = np.abs(legacy - new).max()
    assert (legacy.argmax(1) == new.argmax(1)).all(), "the predictions differ"
    assert difference <= 1e-5 * np.abs(legacy).max(), f"the outputs differ by {difference}"
    print(f"{len(t)} images: all predictions are equal, {(new.argmax(1) == t).mean():.1%} of them right")
    print(f"largest difference between the outputs: {difference:.1e}")


if __name__ == "__main__":
    main()
