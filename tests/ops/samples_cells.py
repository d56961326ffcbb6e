"""Samples of the gates of recurrent cells; the gradients' references are torch's gradients of the cells'."""

import torch

from tests.ops.harness import Floats as A
from tests.ops.harness import by_torch, sample

GATES = "aifo"


def s(x):
    return torch.sigmoid(x)


def parts(x, order=""):
    """a, i, f, o: interleaved along the second axis, or in parts of it in this order."""
    if order:
        by_gate = dict(zip(order, x.chunk(4, 1), strict=True))
        return [by_gate[g] for g in GATES]
    return x.reshape(x.shape[0], x.shape[1] // 4, 4, *x.shape[2:]).unbind(2)


def lstm(c, x, order=""):
    a, i, f, o = parts(x, order)
    head = torch.tanh(a) * s(i) + s(f) * c[: len(x)]
    return torch.cat([head, c[len(x) :]]), s(o) * torch.tanh(head)


def lstm_parts(c, x):
    head, state = lstm(c, x.flatten(1), "iofa")
    return head, state, torch.tanh(head)


def slstm(c1, c2, x1, x2):
    (a1, i1, f1, o1), (a2, i2, f2, o2) = parts(x1), parts(x2)
    c = torch.tanh(a1) * s(i1) + torch.tanh(a2) * s(i2) + s(f1) * c1 + s(f2) * c2
    return c, s(o1 + o2) * torch.tanh(c)


def peephole_cell(c, x, p, q):
    a, i, f, o = parts(x)
    return torch.tanh(a) * s(i + p) + s(f + q) * c, o.clone()


def peephole_output(c, o, p):
    return s(o + p) * torch.tanh(c)


def gru(h, x, y):
    (xr, xz, xn), (yr, yz, yn) = x.chunk(3, 1), y.chunk(3, 1)
    z, n = s(xz + yz), torch.tanh(xn + s(xr + yr) * yn)
    return n + z * (h - n)


def gru_reset(a, b, h):
    return s(a + b) * h


def gru_update(zx, zh, nx, nh, h):
    z = s(zx + zh)
    return z * torch.tanh(nx + nh) + (1 - z) * h


def mgu_reset(f, h):
    return s(f) * h


def mgu_update(f, n, h):
    return s(f) * torch.tanh(n) + (1 - s(f)) * h


def tree_lstm(*inputs):
    *cs, x = inputs
    a, i, o, *fs = x.chunk(len(cs) + 3, 1)
    c = torch.tanh(a) * s(i) + sum(s(f) * c for f, c in zip(fs, cs, strict=True))
    return c, s(o) * torch.tanh(c)


def gradient(cell, inputs):
    def reference(*given, **params):
        xs = [x.clone().requires_grad_() for x in given[:inputs]]
        ys = cell(*xs, **params)
        ys = ys if isinstance(ys, tuple) else (ys,)
        gys = [*given[inputs:], *[None] * (inputs + len(ys) - len(given))]
        gys = [torch.zeros_like(y) if g is None else g for y, g in zip(ys, gys, strict=True)]
        return torch.autograd.grad(ys, xs, gys)

    return reference


def both(name, cell, xs, outputs, **params):
    """The op and its gradient, on Floats of these shapes."""
    inputs = [A(*x, low=-3, high=3) for x in xs]
    yield sample(name, by_torch(cell), *inputs, tolerance=2, **params)
    gys = [A(*g) for g in outputs]
    yield sample(name + "_grad", by_torch(gradient(cell, len(xs))), *inputs, *gys, tolerance=4, **params)


def lstms():
    for c, x in [
        ((3, 5), (3, 20)),
        ((4, 2), (2, 8)),
        ((2, 3, 2, 2), (2, 12, 2, 2)),
        ((3, 2, 3), (1, 8, 3)),
        ((2, 35), (2, 140)),
        ((0, 3), (0, 12)),
        ((2, 3), (0, 12)),
    ]:
        for order in ("", "ifao", "oafi"):
            yield from both("lstm", lstm, (c, x), (c, (x[0], *c[1:])), **({"order": order} if order else {}))
    for rows, units in ((3, 5), (2, 35), (0, 3), (4, 1)):
        inputs = A(rows, units, low=-3, high=3), A(rows, 4, units, low=-3, high=3)
        yield sample("lstm_parts", by_torch(lstm_parts), *inputs, tolerance=2)
    grad = by_torch(gradient(lstm, 2))
    for gc, gh in ((A(4, 3), None), (None, A(2, 3))):
        yield sample("lstm_grad", grad, A(4, 3), A(2, 12), gc, gh)
    yield sample("lstm_grad", grad, A(3, 17), A(3, 68), None, A(3, 17), order="oifa")


def others():
    for units, gates in (((3, 5), (3, 20)), ((2, 3, 2, 2), (2, 12, 2, 2)), ((1, 37), (1, 148)), ((0, 2), (0, 8))):
        yield from both("slstm", slstm, (units, units, gates, gates), (units, units))
        yield from both("peephole_cell", peephole_cell, (units, gates, units, units), (units, units))
    one = by_torch(gradient(slstm, 4))
    yield sample("slstm_grad", one, A(2, 3), A(2, 3), A(2, 12), A(2, 12), None, A(2, 3))
    yield sample("slstm_grad", one, A(2, 3), A(2, 3), A(2, 12), A(2, 12), A(2, 3), None)
    for units in ((3, 5), (2, 3, 2), (1, 33), (0, 2), (4,)):
        yield from both("peephole_output", peephole_output, (units,) * 3, (units,))
        yield from both("gru_reset", gru_reset, (units,) * 3, (units,))
        yield from both("gru_update", gru_update, (units,) * 5, (units,))
        yield from both("mgu_reset", mgu_reset, (units,) * 2, (units,))
        yield from both("mgu_update", mgu_update, (units,) * 3, (units,))
    for units, gates in (((2, 3), (2, 9)), ((1, 19), (1, 57)), ((2, 2, 3), (2, 6, 3)), ((0, 2), (0, 6))):
        yield from both("gru", gru, (units, gates, gates), (units,))


def trees():
    for n in (1, 2, 3, 4, 6):  # from four on by ATen's functions
        for units in ((3, 5), (1, 17), (2, 3, 2)):
            shapes = [units] * n + [(units[0], (n + 3) * units[1], *units[2:])]
            for name, cell, more in (("", tree_lstm, []), ("_grad", gradient(tree_lstm, n + 1), [units] * 2)):
                reference = by_torch(cell)
                yield sample(
                    "tree_lstm" + name,
                    lambda given, f=reference: f(*given),
                    [A(*x, low=-2, high=2) for x in (*shapes, *more)],
                    tolerance=4,
                )


SAMPLES = [s for family in (lstms, others, trees) for line in family() for s in line]
