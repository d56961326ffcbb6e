"""Every op's first and second derivatives on every sample, against finite differences in float64."""

import numpy as np
import pytest
import torch
from all_samples import SAMPLES as ALL
from harness import constants, cotangents, gradients, numbers, strided

from compatgrad import _C

SAMPLES = [s for s in ALL if s.targets]
STEP = 1e-5
TOLERANCE = {"float16": 2e-2, "float32": 2e-5}

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=str)


def inner(a, b):
    """The sum of all products; a gradient that is missing counts as 0."""
    return sum(float((x * y).sum()) for x, y in zip(a, b, strict=True) if x is not None)


def tensors(variables):
    return [None if v is None else v.tensor for v in variables]


def assert_slope(f, at, slopes, what):
    """`slopes[i]` is the derivative of the number `f(at)` by `at[i]`: tried in a random direction."""
    rng = np.random.default_rng(2)
    for i, slope in enumerate(slopes):
        direction = torch.tensor(rng.standard_normal(tuple(at[i].shape)))
        def moved(step, i=i, direction=direction):
            return f([t + step * direction if k == i else t for k, t in enumerate(at)])
        numerical = (moved(STEP) - moved(-STEP)) / (2 * STEP)
        analytic = 0.0 if slope is None else float((slope * direction).sum())
        assert analytic == pytest.approx(numerical, rel=1e-5, abs=1e-6), f"{what} {i}"


class Problem:
    """A sample in float64, as functions of its differentiable inputs and of the gradients of its outputs."""

    def __init__(self, sample):
        self.sample = sample
        self.arrays = sample.arrays()
        self.inputs = [torch.tensor(self.arrays[i]) for i in sample.targets]
        ys = sample.run(sample.variables(self.arrays))
        self.outputs = [j for j, y in enumerate(ys) if y.tensor.dtype == torch.float64]
        self.gys = cotangents([ys[j] for j in self.outputs])

    def forward(self, inputs, requires_grad=None):
        arrays = list(self.arrays)
        for i, t in zip(self.sample.targets, inputs, strict=True):
            arrays[i] = t
        xs = self.sample.variables(arrays, requires_grad)
        ys = self.sample.run(xs)
        return [xs[i] for i in self.sample.targets], [ys[j] for j in self.outputs]

    def value(self, inputs):
        return inner(tensors(self.forward(inputs)[1]), self.gys)

    def first(self, inputs, gys, record=False):
        """Variables of the inputs, of the output gradients, and of the gradients that follow."""
        xs, ys = self.forward(inputs)
        gys = [_C.Variable(g, True) for g in gys]
        gxs = gradients(ys, xs, gys, record)
        # The gradient of an addition is gy itself, for both inputs: a pass would take them for one output.
        return xs, gys, [g if g is None else _C.op("identity")(g) for g in gxs]


@every_sample
def test_first_derivative(sample):
    p = Problem(sample)
    _, _, gxs = p.first(p.inputs, p.gys)
    for x, gx in zip(p.inputs, gxs, strict=True):
        assert gx is None or (gx.tensor.shape == x.shape and gx.tensor.dtype == x.dtype)
    assert_slope(p.value, p.inputs, tensors(gxs), "gradient of input")


@every_sample
def test_second_derivative(sample):
    p = Problem(sample)
    xs, gys, gxs = p.first(p.inputs, p.gys, record=True)
    there = [k for k, g in enumerate(gxs) if g is not None]
    directions = cotangents([gxs[k] for k in there], seed=3)
    n = len(p.inputs)

    def projected(at):
        result = p.first(at[:n], at[n:])[2]
        return inner(tensors([result[k] for k in there]), directions)

    for record in (False, True):
        second = gradients([gxs[k] for k in there], xs + gys, constants(directions), record)
        what = f"second derivative (recorded: {record}) by argument"
        assert_slope(projected, p.inputs + p.gys, tensors(second), what)


@every_sample
def test_recorded_pass_equals_plain_pass(sample):
    p = Problem(sample)
    plain, recorded = p.first(p.inputs, p.gys)[2], p.first(p.inputs, p.gys, record=True)[2]
    for a, b in zip(plain, recorded, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a.tensor, b.tensor, rtol=1e-12, atol=1e-12)


@every_sample
def test_one_gradient_alone(sample):
    """What is saved for one gradient suffices, whichever inputs need none."""
    p = Problem(sample)
    together = p.first(p.inputs, p.gys)[2]
    for k, i in enumerate(sample.targets):
        xs, ys = p.forward(p.inputs, requires_grad=[i])
        alone = gradients(ys, [xs[k]], constants(p.gys))[0]
        assert (alone is None) == (together[k] is None)
        if alone is not None:
            torch.testing.assert_close(alone.tensor, together[k].tensor)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if len(Problem(s).outputs) > 1], ids=str)
@pytest.mark.parametrize("record", [False, True])
def test_one_output_alone(sample, record):
    """Outputs without a gradient count as 0."""
    p = Problem(sample)
    for j in range(len(p.outputs)):
        xs, ys = p.forward(p.inputs)
        zeroed = [g if k == j else torch.zeros_like(g) for k, g in enumerate(p.gys)]
        expected = p.first(p.inputs, zeroed)[2]
        y = ys[j]
        del ys  # the other outputs are released, as by a program that does not use them
        for gx, e in zip(gradients([y], xs, constants([p.gys[j]]), record), expected, strict=True):
            torch.testing.assert_close(np.zeros(e.shape) if gx is None else numbers(gx), numbers(e))


@every_sample
def test_layouts(sample):
    """Neither the layout of inputs nor that of output gradients changes a gradient."""
    p = Problem(sample)
    expected = p.first(p.inputs, p.gys)[2]
    for layout in (strided, lambda t: t.sum().expand(t.shape)):
        inputs = [strided(t) for t in p.inputs]
        gys = [layout(g) for g in p.gys]
        if layout is not strided:
            expected = p.first(p.inputs, [g.contiguous() for g in gys])[2]
        for gx, e in zip(p.first(inputs, gys)[2], expected, strict=True):
            if e is not None:
                torch.testing.assert_close(gx.tensor, e.tensor)


@every_sample
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_low_precision(sample, dtype):
    if dtype not in sample.dtypes:
        pytest.skip(f"{sample.op} is not defined for {dtype}")
    arrays = sample.arrays(dtype)
    wide = [a.astype("float64") if i in sample.targets else a for i, a in enumerate(arrays)]
    results = []
    for inputs in (arrays, wide):
        xs = sample.variables(inputs)
        ys = [y for y in sample.run(xs) if y.tensor.is_floating_point()]
        gys = [g.half().to(y.tensor.dtype) for g, y in zip(cotangents(ys), ys, strict=True)]
        results.append(gradients(ys, [xs[i] for i in sample.targets], constants(gys)))
    for low, high in zip(*results, strict=True):
        if low is None:
            assert high is None
            continue
        assert low.tensor.dtype == getattr(torch, dtype)
        tolerance = TOLERANCE[dtype] * sample.tolerance
        np.testing.assert_allclose(numbers(low), numbers(high), rtol=tolerance, atol=tolerance)
