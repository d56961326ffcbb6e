"""Derivatives of torch functions inside the engine's graph, against finite differences and against torch's own."""

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import interop
from tests.interop.torch_functions import FUNCTIONS, MODULES, ONCE
from tests.ops.harness import Problem, Sample, constants, gradients, strided, tensors


class Called(Sample):
    """A sample whose `reference`, a torch function, is called in the engine's graph."""

    def run(self, xs):
        return flat(interop.call(self.reference, *xs))


def flat(y):
    """A list of the tensors in a nested result."""
    return torch.utils._pytree.tree_leaves(y)


def samples(functions):
    return [Called(name, function, tuple(inputs)) for name, function, *inputs in functions]


SAMPLES = samples(f for family in FUNCTIONS.values() for f in family)
every_function = pytest.mark.parametrize("sample", SAMPLES, ids=str)


@every_function
def test_derivatives(sample):
    p = Problem(sample)
    p.assert_first_derivative()
    p.assert_second_derivative()


def derivatives(order, ys, xs, grad):
    """Gradients of the weighted results by `xs`, then gradients of those gradients, and so on."""
    found = []
    for k in range(order):
        rng = np.random.default_rng(k)
        weights = [torch.tensor(rng.standard_normal(tuple(y.shape))) for y in ys]
        there = [j for j, y in enumerate(ys) if y is not None and y.requires_grad]
        gxs = (
            grad([ys[j] for j in there], xs, [weights[j] for j in there], k + 1 < order) if there else [None] * len(xs)
        )
        pairs = zip(gxs, xs, strict=True)
        found.append([torch.zeros(tuple(x.shape), dtype=torch.float64) if g is None else g for g, x in pairs])
        ys = found[-1]
    return found


def of_torch(ys, xs, gys, record):
    return torch.autograd.grad(ys, xs, gys, create_graph=record, retain_graph=True, allow_unused=True)


def of_engine(ys, xs, gys, record):
    return gradients(ys, xs, constants(gys), record)


@every_function
def test_the_same_as_in_torch(sample):
    """Compare the values of all outputs and three orders of derivatives."""
    p = Problem(sample)
    arrays = [torch.as_tensor(a) for a in p.arrays]
    for i in sample.targets:
        arrays[i] = arrays[i].clone().requires_grad_()
    expected = flat(sample.reference(*arrays))
    xs = sample.variables(p.arrays)
    ys = sample.run(xs)
    for y, e in zip(ys, expected, strict=True):
        assert y.tensor.dtype == e.dtype and not y.tensor.requires_grad
        torch.testing.assert_close(y.tensor, e.detach(), rtol=0, atol=0, equal_nan=True)
    theirs = derivatives(3, [expected[j] for j in p.outputs], [arrays[i] for i in sample.targets], of_torch)
    ours = derivatives(3, [ys[j] for j in p.outputs], [xs[i] for i in sample.targets], of_engine)
    for order, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for u, v in zip(a, b, strict=True):
            torch.testing.assert_close(
                getattr(u, "tensor", u), v.detach(), equal_nan=True, msg=lambda m, k=order: f"order {k + 1}: {m}"
            )


@every_function
def test_layouts(sample):
    """Neither the layout of inputs nor that of output gradients changes a gradient."""
    p = Problem(sample)
    expected = tensors(p.first(p.inputs, [g.sum().expand(g.shape).contiguous() for g in p.gys])[2])
    found = tensors(p.first([strided(t) for t in p.inputs], [g.sum().expand(g.shape) for g in p.gys])[2])
    for g, e in zip(found, expected, strict=True):
        torch.testing.assert_close(g, e)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if len(Problem(s).outputs) > 1], ids=str)
@pytest.mark.parametrize("record", [False, True])
def test_one_output_alone(sample, record):
    """Unused outputs get gradients of 0."""
    p = Problem(sample)
    for j in range(len(p.outputs)):
        xs, ys = p.forward(p.inputs)
        expected = p.first(p.inputs, [g if k == j else torch.zeros_like(g) for k, g in enumerate(p.gys)])[2]
        y = ys[j]
        del ys
        for gx, e in zip(gradients([y], xs, constants([p.gys[j]]), record), expected, strict=True):
            torch.testing.assert_close(torch.zeros_like(e.tensor) if gx is None else gx.tensor, e.tensor)


@pytest.mark.parametrize("sample", samples(ONCE), ids=str)
def test_where_torch_has_no_second_derivative(sample):
    p = Problem(sample)
    p.assert_first_derivative()
    with pytest.raises((RuntimeError, NotImplementedError), match="derivative for .* is not implemented"):
        p.assert_second_derivative()


@pytest.mark.parametrize("make, inputs", [(make, x) for _, make, *x in MODULES], ids=[name for name, *_ in MODULES])
def test_modules(make, inputs):
    """A penalty on the gradient reaches inputs and parameters as in torch alone."""
    torch.manual_seed(0)
    module = make().double()
    arrays = [torch.as_tensor(a) for a in Called("", None, tuple(inputs)).arrays()]

    def step(leaf, call, grad):
        module.zero_grad()
        xs = [leaf(a.clone(), a.is_floating_point()) for a in arrays]
        ys = [y for y in flat(call(*xs)) if y is not None]
        targets = [x for x in xs if x.requires_grad]
        weights = [torch.linspace(1, 2, y.reshape(-1).shape[0]).double().reshape(tuple(y.shape)) for y in ys]
        gxs = grad(ys, targets, weights, True) if targets else ()
        sum((g * g).sum() for g in (*gxs, *ys)).backward()
        return [x.grad for x in targets] + [p.grad for p in module.parameters()]

    ours = step(compatgrad.Variable, lambda *xs: interop.call(module, *xs), of_engine)
    theirs = step(lambda a, needs: a.requires_grad_(needs), module, of_torch)
    for u, v in zip(ours, theirs, strict=True):
        torch.testing.assert_close(u, v)
