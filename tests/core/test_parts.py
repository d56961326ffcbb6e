"""Gradients of an array whose parts a program reads one by one."""

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import chainer, ops
from compatgrad.chainer import functions as F

random = np.random.RandomState(0)


def whole(values=None):
    """A result of a function, so that its parts' gradients wait."""
    leaf = chainer.Variable(random.randn(4, 5, 6) if values is None else values)
    return leaf, leaf * 1.0


# What is read of the array, in the order of the parts.
READ = {
    "every part": lambda x: [x[i] for i in range(4)],
    "backwards": lambda x: [x[i] for i in (3, 1, 2, 0)],
    "from the end": lambda x: [x[-1], x[-4]],
    "one part": lambda x: [x[:, 2]],
    "slices": lambda x: [x[:, :2], x[:, 2:4], x[:, -1:]],
    "slices with a gap": lambda x: [x[1:2], x[3:]],
    "slices that overlap": lambda x: [x[:3], x[2:], x[1:2]],
    "the same part": lambda x: [x[1]] * 9 + [x[2]],
    "several axes": lambda x: [x[0], x[:, 1], x[:, :, 2:4]],
    "slices beyond the end": lambda x: [x[2:9], x[-9:1], x[7:]],
    "steps": lambda x: [x[::2], x[1], x[::-1]],
    "more than one axis": lambda x: [x[0, 1], x[2], x[..., 3], x[None, 1]],
    "arrays": lambda x: [x[np.array([0, 1])], x[1]],
    "and the whole": lambda x: [x[0], x * 3, x[1], x[2]],
    "the whole first": lambda x: [x * 3, x[0], x[1]],
    "an empty part": lambda x: [x[1:1], x[1]],
}


def weight(i, part):
    return np.random.RandomState(i).randn(*part.shape)


def expected(read, shape):
    """By differences, which are exact: the sum is linear."""
    g = np.zeros(shape)
    for place in np.ndindex(*shape):
        unit = np.zeros(shape)
        unit[place] = 1
        g[place] = sum((part * weight(i, part)).sum() for i, part in enumerate(read(unit)))
    return g


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("permuted", [False, True])
def test_sum_of_parts(name, permuted):
    leaf, x = whole()
    if permuted:  # back to the shape it had, with memory in another order
        x = F.transpose(F.transpose(leaf, (2, 0, 1)) * 1.0, (1, 2, 0))
    loss = sum(F.sum(part * weight(i, part)) for i, part in enumerate(READ[name](x)))
    loss.backward()
    np.testing.assert_allclose(leaf.grad, expected(READ[name], leaf.shape), rtol=1e-12, atol=1e-12)


def test_axes_that_are_permuted():
    """The gradient of each head's part is the one that NumPy's einsum gives."""
    leaf = chainer.Variable(random.randn(2, 5, 3, 4, 8).astype(np.float32))
    q, k, v = F.transpose(leaf * 1.0, (2, 0, 3, 1, 4))
    g = random.randn(2, 4, 5, 8).astype(np.float32)
    y = q * 2 + k * 3 + v * 5
    y.grad = g
    y.backward()
    want = np.stack([2 * g, 3 * g, 5 * g]).transpose(1, 3, 0, 2, 4)
    np.testing.assert_allclose(leaf.grad, want, rtol=1e-6)


def test_second_derivatives():
    leaf, x = whole()
    y = sum(F.sum(x[i] ** 3) for i in range(4))
    (g,) = chainer.grad([y], [leaf], enable_double_backprop=True)
    (gg,) = chainer.grad([F.sum(g * g)], [leaf])
    np.testing.assert_allclose(g.array, 3 * leaf.array**2)
    np.testing.assert_allclose(gg.array, 2 * 3 * leaf.array**2 * 6 * leaf.array)


def test_gradients_that_are_retained():
    leaf, x = whole()
    loss = F.sum(x[0] * 2) + F.sum(x[2] * 3)
    loss.backward(retain_grad=True)
    want = np.zeros_like(leaf.array)
    want[0], want[2] = 2, 3
    np.testing.assert_array_equal(x.grad, want)
    np.testing.assert_array_equal(leaf.grad, want)


def test_hooks_see_sums():
    seen = []

    class Hook(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            seen.append((function.label, float(out_grad[0].sum())))

    leaf, x = whole()
    loss = F.sum(x[0] * 2) + F.sum(x[2] * 3)
    with Hook():
        loss.backward()
    assert seen[-1] == ("_ * 1.0", 2 * 30 + 3 * 30)


def test_a_function_in_python_between():
    """It may change the arrays of gradients that it gets, which wait elsewhere."""

    class Spoils(chainer.Function):
        def forward(self, inputs):
            return (inputs[0].copy(),)

        def backward(self, inputs, grads):
            g = grads[0].copy()
            grads[0][...] = 100
            return (g,)

    leaf, x = whole()
    loss = F.sum(x[0]) + F.sum(Spoils()(x[1]) * 2) + F.sum(x[2])
    loss.backward()
    want = np.zeros_like(leaf.array)
    want[0], want[1], want[2] = 1, 2, 1
    np.testing.assert_array_equal(leaf.grad, want)


def test_gradients_accumulate():
    leaf, x = whole()
    loss = F.sum(x[0] * 2) + F.sum(x[1])
    loss.backward()
    loss.cleargrad()
    loss.backward()
    want = np.zeros_like(leaf.array)
    want[0], want[1] = 4, 2
    np.testing.assert_array_equal(leaf.grad, want)


def test_empty_arrays():
    leaf, x = whole(np.zeros((0, 3)))
    loss = F.sum(x[:, 1]) + F.sum(x[:, :2])
    loss.backward()
    assert leaf.grad.shape == (0, 3)


@pytest.mark.parametrize("name", ["every part", "slices with a gap", "slices that overlap", "and the whole"])
def test_complex_numbers(name):
    """The pass conjugates what goes into a formula and what comes out of it; parts leave it on another way."""
    values = torch.randn(4, 5, 6, dtype=torch.complex128)
    leaf = compatgrad.Variable(values, requires_grad=True)
    x, t = ops.mul(leaf, leaf), values.clone().requires_grad_()
    parts, expected = READ[name](Indexed(x)), READ[name](t * t)
    parts = [p.x if isinstance(p, Indexed) else p for p in parts]
    heads = [torch.randn(p.shape, dtype=torch.complex128) for p in expected]
    (found,) = compatgrad.grad(parts, [leaf], [compatgrad.Variable(h) for h in heads])
    (wanted,) = torch.autograd.grad(expected, [t], heads)
    torch.testing.assert_close(found.tensor, wanted)


class Indexed:
    """Variables of the native frontend have no operators."""

    def __init__(self, x):
        self.x = x

    def __getitem__(self, index):
        return ops.get_item(self.x, index)

    def __mul__(self, number):
        return ops.mul_scalar(self.x, number)
