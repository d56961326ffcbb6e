#!/usr/bin/env python
"""Character-level LSTM language model, trained with truncated backprop through time."""

import logging
import os

import mxnet as mx
import numpy as np
import sklearn.datasets
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

import options

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
    return np.array([ids[c] for c in text], dtype=np.float32), chars


def batchify(ids, batch_size, ctx):
    """Cut the text into pieces that are read in parallel: (time, batch)."""
    length = len(ids) // batch_size
    return nd.array(ids[: length * batch_size].reshape(batch_size, length).T, ctx=ctx)


def windows(text, bptt):
    """Yield inputs, targets and whether a new epoch begins, without end."""
    while True:
        for i in range(0, text.shape[0] - bptt, bptt):
            yield text[i : i + bptt], text[i + 1 : i + 1 + bptt], i == 0


class CharLM(gluon.Block):
    def __init__(self, vocab, units, layers, dropout, tied, **kwargs):
        super(CharLM, self).__init__(**kwargs)
        self.units = units
        with self.name_scope():
            self.drop = nn.Dropout(dropout)
            self.encoder = nn.Embedding(vocab, units, weight_initializer=mx.init.Uniform(0.1))
            self.rnn = rnn.LSTM(units, layers, dropout=dropout, input_size=units)
            shared = self.encoder.params if tied else None
            self.decoder = nn.Dense(vocab, in_units=units, params=shared)

    def forward(self, inputs, state):
        output, state = self.rnn(self.drop(self.encoder(inputs)), state)
        return self.decoder(self.drop(output).reshape((-1, self.units))), state

    def begin_state(self, *args, **kwargs):
        return self.rnn.begin_state(*args, **kwargs)


def detach(state):
    """Return the state without its history."""
    if isinstance(state, (tuple, list)):
        return [detach(s) for s in state]
    return state.detach()


def sample(model, chars, length, ctx):
    """Let the model continue a text after a space, with the most probable character each time."""
    state = model.begin_state(func=nd.zeros, batch_size=1, ctx=ctx)
    text = " "
    for _ in range(length):
        output, state = model(nd.array([[chars.index(text[-1])]], ctx=ctx), state)
        text += chars[int(output.argmax(axis=1).asscalar())]
    return text


def main():
    p = options.parser("LSTM language model of characters", steps=1500, batch_size=10, lr=0.004)
    p.add_argument("--text", metavar="FILE", help="a text to learn (default: data set descriptions of scikit-learn)")
    p.add_argument("--bptt", type=int, default=20, help="number of steps of backprop through time")
    p.add_argument("--units", "-u", type=int, default=64, help="LSTM units of a layer")
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--tied", action="store_true", help="share one matrix between input and output characters")
    p.add_argument("--clip", type=float, default=0.25, help="maximum norm of the gradients per character of a batch")
    args = p.parse_args()
    ctx = options.start(args)

    ids, chars = load_text(args.text)
    text = batchify(ids, args.batch_size, ctx)
    logging.info("%d characters, %d different ones", len(ids), len(chars))

    model = CharLM(len(chars), args.units, args.layers, args.dropout, args.tied, prefix="lm_")
    options.initialize(model, mx.init.Xavier(), args, ctx)
    trainer = gluon.Trainer(model.collect_params(), "adam", {"learning_rate": args.lr})
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()

    curve = options.Curve(args)
    pieces = windows(text, args.bptt)
    for _ in range(args.steps):
        data, target, first = next(pieces)
        if first:
            state = model.begin_state(func=nd.zeros, batch_size=args.batch_size, ctx=ctx)
        state = detach(state)
        with autograd.record():
            output, state = model(data, state)
            loss = loss_fn(output, target.reshape((-1,)))
        loss.backward()
        # The loss has one element per character, and the gradients are those of their sum.
        grads = [p.grad(ctx) for p in model.collect_params().values()]
        norm = gluon.utils.clip_global_norm(grads, args.clip * args.bptt * args.batch_size)
        trainer.step(args.bptt * args.batch_size)
        curve.add(loss=loss.mean(), norm=norm)

    if curve.records:
        last = [r["loss"] for r in curve.records[-50:]]
        logging.info("perplexity of the last updates: %.2f", np.exp(np.mean(last)))
    print(repr(sample(model, chars, 60, ctx)))
    curve.finish(model)


if __name__ == "__main__":
    main()
