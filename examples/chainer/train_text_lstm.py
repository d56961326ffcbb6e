#!/usr/bin/env python
"""Character-level LSTM language model, trained with truncated backprop through time."""

import argparse
import os

import numpy as np
import sklearn.datasets

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import initializers
from chainer import optimizers
from chainer import serializers

from losslog import LossLog

# Descriptions of data sets in scikit-learn. These three are the same in many years of releases; most others were
# edited.
TEXTS = ["covtype.rst", "diabetes.rst", "olivetti_faces.rst"]


def load_text(path=None):
    """Return the text as an array of character ids, and the characters."""
    if path:
        paths = [path]
    else:
        descr = os.path.join(os.path.dirname(sklearn.datasets.__file__), "descr")
        paths = [os.path.join(descr, name) for name in TEXTS]
    words = []
    for p in paths:
        with open(p, encoding="utf-8") as f:
            words += [w for w in f.read().lower().split() if any(c.isalnum() for c in w)]
    text = " ".join(words)
    chars = sorted(set(text))
    ids = {c: i for i, c in enumerate(chars)}
    return np.array([ids[c] for c in text], dtype=np.int32), chars


class CharLSTM(chainer.Chain):
    def __init__(self, n_vocab, n_units):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.lstm1 = L.LSTM(n_units, n_units)
            self.lstm2 = L.LSTM(n_units, n_units)
            self.out = L.Linear(n_units, n_vocab)
        for param in self.params():
            if param.array is not None and param.ndim == 2:
                initializers.Uniform(0.1)(param.array)

    def reset_state(self):
        self.lstm1.reset_state()
        self.lstm2.reset_state()

    def forward(self, x):
        h = self.lstm1(self.embed(x))
        h = self.lstm2(F.dropout(h, 0.1))
        return self.out(F.dropout(h, 0.1))


def streams(ids, batchsize):
    """Cut the text into `batchsize` pieces that are read in parallel: (time, batch)."""
    length = (len(ids) - 1) // batchsize
    x = ids[: length * batchsize].reshape(batchsize, length).T
    t = ids[1 : length * batchsize + 1].reshape(batchsize, length).T
    return x, t


def sample(model, chars, length):
    """Let the model continue a text after a space, with the most probable character each time."""
    model.reset_state()
    text = " "
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        for _ in range(length):
            y = model(np.array([chars.index(text[-1])], dtype=np.int32))
            text += chars[int(y.array.argmax())]
    model.reset_state()
    return text


def main():
    parser = argparse.ArgumentParser(description="LSTM language model of characters")
    parser.add_argument("--text", help="a text file to learn (default: data set descriptions of scikit-learn)")
    parser.add_argument("--batchsize", "-b", type=int, default=10, help="number of pieces read in parallel")
    parser.add_argument("--bproplen", "-l", type=int, default=20, help="number of steps of backprop through time")
    parser.add_argument("--epoch", "-e", type=int, default=30, help="number of epochs")
    parser.add_argument("--unit", "-u", type=int, default=64, help="number of LSTM units in a layer")
    parser.add_argument("--lr", type=float, default=0.004, help="learning rate of Adam")
    parser.add_argument("--gradclip", "-c", type=float, default=5, help="norm to which gradients are clipped")
    parser.add_argument("--seed", "-s", type=int, default=0, help="random seed")
    parser.add_argument("--out", "-o", help="write the loss of every iteration to this JSON file")
    parser.add_argument("--model", "-m", help="save the trained model to this npz file")
    args = parser.parse_args()

    np.random.seed(args.seed)
    ids, chars = load_text(args.text)
    xs, ts = streams(ids, args.batchsize)
    print("{} characters, {} different ones".format(len(ids), len(chars)))

    model = CharLSTM(len(chars), args.unit)
    optimizer = optimizers.Adam(alpha=args.lr)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(args.gradclip))

    log = LossLog(("loss", "perplexity"))
    for _ in range(args.epoch):
        model.reset_state()
        n = 0
        for start in range(0, len(xs) - args.bproplen + 1, args.bproplen):
            loss = 0
            for x, t in zip(xs[start : start + args.bproplen], ts[start : start + args.bproplen]):
                loss += F.softmax_cross_entropy(model(x), t)
            model.cleargrads()
            loss.backward()
            loss.unchain_backward()  # keeps the state, but cuts off its history
            optimizer.update()
            log.add(loss=loss.array / args.bproplen)
            n += 1
        log.show(n, perplexity=np.exp(log.mean("loss", n)))

    print(repr(sample(model, chars, 60)))
    if args.out:
        log.save(args.out)
    if args.model:
        serializers.save_npz(args.model, model)


if __name__ == "__main__":
    main()
