"""Random graphs of all frontends' functions, with gradients as parts of the graph, compared with torch."""

import random

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop

# number of inputs -> name -> the function in each frontend and in torch
FUNCTIONS = {
    1: {
        "sin": (NF.sin, F.sin, mx.nd.sin, compatgrad.ops.sin, torch.sin),
        "tanh": (NF.tanh, F.tanh, mx.nd.tanh, compatgrad.ops.tanh, torch.tanh),
        "square": (lambda x: NF.pow_scalar(x, 2), F.square, mx.nd.square, lambda x: x * x, torch.square),
        "softmax": (
            lambda x: NF.softmax(x, axis=0),
            lambda x: F.softmax(x, axis=0),
            lambda x: mx.nd.softmax(x, axis=0),
            lambda x: compatgrad.ops.softmax(x, 0),
            lambda x: torch.softmax(x, 0),
        ),
    },
    2: {
        "add": (NF.add2, *[lambda x, y: x + y] * 3, torch.add),
        "mul": (NF.mul2, *[lambda x, y: x * y] * 3, torch.mul),
    },
}
SUM = (NF.sum, F.sum, mx.nd.sum, lambda x: x.sum(), torch.sum)
SIDES = ("nnabla", "chainer", "mxnet", "compatgrad")
RECORDED = (
    {},
    {"enable_double_backprop": True},
    {"create_graph": True},
    {"enable_double_backprop": True},
)


def leaf(side, array):
    if side == 0:
        v = nn.Variable.from_numpy_array(array, need_grad=True)
        v.grad.zero()
        return v
    if side == 2:
        v = mx.nd.array(array)
        v.attach_grad()
        return v
    return chainer.Variable(array.copy()) if side == 1 else compatgrad.Variable(torch.from_numpy(array.copy()))


def value(v):
    if isinstance(v, nn.Variable):
        if v.parent is not None:
            v.forward()
        return v.d
    return v.tensor.numpy()


def gradient(v):
    if isinstance(v, nn.Variable):
        return v.g
    if isinstance(v, mx.nd.NDArray):
        return v.grad.asnumpy()
    return 0 if v.grad is None else np.asarray(v.grad)


class Program:
    """A random program as pairs of a Variable and torch's tensor, beginning with the leaves."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        arrays = np.random.RandomState(seed).uniform(0.2, 1, (3, 3)).astype("f")
        self.leaves = [(leaf(self.random.randrange(4), a), torch.from_numpy(a.astype("d")).requires_grad_())
                       for a in arrays]  # fmt: skip
        self.pairs = list(self.leaves)

    def grow(self, steps):
        for _ in range(steps):
            side, arity = self.random.randrange(4), self.random.choice([1, 2])
            own, *_, of_torch = self.one(FUNCTIONS[arity], side)
            xs = [self.random.choice(self.pairs) for _ in range(arity)]
            self.pairs.append((own(*(interop.to(SIDES[side], v) for v, _ in xs)), of_torch(*(t for _, t in xs))))

    def one(self, functions, side):
        chosen = functions[self.random.choice(sorted(functions))]
        return chosen[side], chosen[-1]

    def total(self):
        """Return a random frontend, the sum of the last values in it, and that sum in torch."""
        side = self.random.randrange(4)
        ys = [SUM[side](interop.to(SIDES[side], v)) for v, _ in self.pairs[-4:]]
        total = ys[0]
        for y in ys[1:]:
            total = FUNCTIONS[2]["add"][side](total, y)
        return side, total, sum(t.sum() for _, t in self.pairs[-4:])

    def differentiate(self):
        """Check the gradients by the leaves, and add them to the program's values."""
        side, y, t = self.total()
        expected = torch.autograd.grad(t, [t for _, t in self.leaves], create_graph=True, allow_unused=True)
        reached = [(v, e) for (v, _), e in zip(self.leaves, expected, strict=True) if e is not None]
        found = compatgrad.grad([y], [v for v, _ in reached], **RECORDED[side])
        for g, (_, e) in zip(found, reached, strict=True):
            assert type(g) is type(y)
            np.testing.assert_allclose(value(g), e.detach(), rtol=2e-3, atol=2e-4)
            self.pairs.append((g, e))

    def finish(self):
        side, y, t = self.total()
        if side == 0:
            y.forward()
        for v, _ in self.leaves:
            if hasattr(v, "cleargrad"):
                v.cleargrad()
        y.backward()
        t.backward()
        for v, e in self.leaves:
            np.testing.assert_allclose(gradient(v), 0 if e.grad is None else e.grad, rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize("seed", range(60))
def test_gradients_of_a_random_program(seed):
    nn.set_auto_forward(seed % 2 == 0)
    try:
        with mx.autograd.record():
            program = Program(seed)
            program.grow(6)
            program.differentiate()
            program.grow(4)
            if seed % 3 == 0:
                program.differentiate()
                program.grow(2)
            program.finish()
    finally:
        nn.set_auto_forward(False)
