"""Samples of recurrent layers, CTC, random fields, dropout and normalization whose statistics move in backward."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F

from tests.ops.harness import Floats as A
from tests.ops.harness import by_torch, sample

FLAT = dict(differentiable=())  # its gradient is not the derivative of its value
X, Y, G = (np.arange(6.0).reshape(2, 3) * k for k in (1, 2, 3))


def batch_norm(x, gamma, beta, eps=1e-3, axis=1, **others):
    over = [k for k in range(x.ndim) if k != axis % x.ndim]
    shape = [n if k == axis % x.ndim else 1 for k, n in enumerate(x.shape)]
    m, v = x.mean(over, keepdim=True), x.var(over, keepdim=True, correction=0)
    return (x - m) / (v + eps).sqrt() * gamma.reshape(shape) + beta.reshape(shape)


def normalizations():
    for shape, axis in (((6, 3), 1), ((4, 3, 5), 1), ((3, 2, 4, 4), -3), ((4, 2, 3), -1), ((2, 17, 20), 1)):
        inputs = A(*shape, low=-2, high=3), A(shape[axis], low=0.5, high=2), A(shape[axis])
        more = dict(eps=1e-2, axis=axis, tolerance=4)
        yield sample("batch_normalization_late", by_torch(batch_norm), *inputs, fix_gamma=False, **more)
    moving = dict(moving_mean=torch.zeros(3), moving_var=torch.ones(3), momentum=0.5)
    yield sample("batch_normalization_late", by_torch(batch_norm), A(4, 3, 2), np.ones(3), A(3), tolerance=4, **moving)


def gru(h, x, s):
    logistic = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    (xr, xz, xn), (sr, sz, sn) = np.split(x, 3, 1), np.split(s, 3, 1)
    z, n = logistic(xz + sz), np.tanh(xn + logistic(xr + sr) * sn)
    return n + z * (h - n)


def others():
    yield sample("dropout_hashed", lambda x, p: x, A(3, 4), p=0.0)
    yield sample("dropout_hashed", lambda x, p: x * 0, A(3, 4), p=1.0)


def ctc(x, labels, steps, lengths, blank=0):
    loss = F.ctc_loss(x.log_softmax(2), labels, steps, lengths, blank, reduction="none")
    return torch.where(loss.isinf(), 0, loss)


def ctc_mean(x, labels, steps, lengths, blank=0, lowest=0, reduce=""):
    every = torch.where(steps == 0, len(x), steps)
    loss = F.ctc_loss(x.log_softmax(2), labels, every, lengths, blank, reduction="none")
    return torch.where(loss.isinf(), -lowest, loss).mean()


def sequences():
    cases = (
        (0, [[1, 2], [3, 3]], [5, 4], [2, 2]),
        (3, [[1, 1, 0], [0, 2, 0]], [5, 3], [3, 1]),
        (1, [[0, 2], [2, 0]], [5, 5], [0, 1]),
        (0, [[1, 1], [2, 3]], [2, 3], [2, 2]),
        (0, [[0, 1], [2, 0]], [5, 4], [2, 2]),
    )
    for blank, labels, steps, lengths in cases:
        numbers = [np.array(v) for v in (labels, steps, lengths)]
        yield sample("ctc_loss", by_torch(ctc), A(5, 2, 4, low=-2, high=2), *numbers, blank=blank, tolerance=4)
    more = dict(lowest=-1e13, reduce="mean", tolerance=4)
    flat = dict(FLAT, dtypes=("float32", "float64"))
    for labels, steps, kind in (([[1, 2], [3, 3]], [5, 4], {}), ([[1, 1], [2, -1]], [2, 0], flat)):
        numbers = [np.array(v) for v in (labels, steps, [2, 1])]
        yield sample("ctc_loss", by_torch(ctc_mean), A(5, 2, 4, low=-2, high=2), *numbers, **more, **kind)


def chains(cost, x, sizes):
    """Of each sequence its rows, all its label sequences and their scores."""
    starts = np.cumsum([0, *sizes])
    for i in range(sizes[0]):
        places = [starts[t] + i for t, n in enumerate(sizes) if i < n]
        paths = np.array(list(itertools.product(range(len(cost)), repeat=len(places))))
        yield places, paths, x[places, paths].sum(1) + cost[paths[:, :-1], paths[:, 1:]].sum(1)


def crf_log_partition(cost, x, sizes):
    return np.array([np.log(np.exp(scores).sum()) for _, _, scores in chains(cost, x, sizes)])


def crf_score(cost, x, labels, sizes):
    labels = labels % len(cost)
    return np.array([s[(p == labels[rows]).all(1)][0] for rows, p, s in chains(cost, x, sizes)])


def crf_path(cost, x, sizes):
    y = np.zeros(len(x), int)
    for rows, paths, scores in chains(cost, x, sizes):
        y[rows] = paths[scores.argmax()]
    return y


def fields():
    for sizes in ([3, 3, 2], [2, 1, 1, 0], [2], [1, 1]):
        rows = A(sum(sizes), 3, low=-2, high=2)
        yield sample("crf_log_partition", crf_log_partition, A(3, 3), rows, sizes=sizes, tolerance=4)
        yield sample("crf_score", crf_score, A(3, 3), rows, np.arange(sum(sizes)) % 3, sizes=sizes, tolerance=4)
        yield sample("crf_path", crf_path, A(3, 3), rows, sizes=sizes, differentiable=())
    yield sample("crf_score", crf_score, A(3, 3), A(2, 3), np.array([-3, 2]), sizes=[1, 1])


def rnn_layer(x, h, c, w, b=None, mode="lstm", reverse=False, order=""):
    hs, cs, gates = [None] * len(x), [None] * len(x), [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        s = h @ w.T + (0 if b is None else b)
        gates[t] = s if mode == "gru" else x[t] + s
        if mode == "gru":
            h = gru(h, x[t], s)
        elif mode == "lstm":
            if order:
                blocks = (x[t] + s).reshape(len(h), 4, -1)
                a, i, f, o = (blocks[:, order.index(gate)] for gate in "aifo")
            else:
                a, i, f, o = (x[t] + s).reshape(len(h), -1, 4).transpose(2, 0, 1)
            logistic = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
            c = np.tanh(a) * logistic(i) + c * logistic(f)
            h = logistic(o) * np.tanh(c)
        else:
            h = np.tanh(x[t] + s) if mode == "rnn_tanh" else np.maximum(x[t] + s, 0)
        hs[t], cs[t] = h, c
    results = {"lstm": (hs, cs, gates), "gru": (hs, gates)}.get(mode, (hs,))
    return [np.stack(v) for v in results] if len(results) > 1 else np.stack(hs)


def layers():
    for mode, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for reverse, time in ((False, 3), (True, 3), (False, 1), (True, 8)):  # from 8 steps on w is transposed once
            c, b = A(2, 3) if mode == "lstm" else None, A(3 * gates) if mode == "gru" else None
            yield sample(
                "rnn_layer",
                rnn_layer,
                A(time, 2, 3 * gates, low=-2, high=2),
                A(2, 3),
                c,
                A(3 * gates, 3),
                b,
                mode=mode,
                reverse=reverse,
                tolerance=4,
            )
    for b, order in ((None, "ifao"), (A(12), "ifao"), (A(12), "")):
        yield sample(
            "rnn_layer",
            rnn_layer,
            A(3, 2, 12, low=-2, high=2),
            A(2, 3),
            A(2, 3),
            A(12, 3),
            b,
            mode="lstm",
            order=order,
            tolerance=4,
        )


def losses():
    for multiply in (False, True):
        yield sample("loss_output", lambda x, y, g, multiply: y, X, Y, G, multiply=multiply, **FLAT)


FAMILIES = (normalizations, others, sequences, fields, layers, losses)
SAMPLES = [s for family in FAMILIES for line in family() for s in line]
