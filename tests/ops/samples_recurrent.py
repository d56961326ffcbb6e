"""Samples of recurrent layers, CTC, dropout and normalization whose statistics move in backward."""

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
        for reverse, time in ((False, 3), (True, 3), (False, 1)):
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


SAMPLES = [s for family in (normalizations, others, sequences, layers, losses) for line in family() for s in line]
