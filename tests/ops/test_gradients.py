"""Every op's first and second derivatives on every sample, against finite differences in float64."""

import numpy as np
import pytest
import torch

from tests.ops.all_samples import SAMPLES as ALL
from tests.ops.harness import Problem, constants, cotangents, gradients, numbers, strided

SAMPLES = [s for s in ALL if s.targets]
TOLERANCE = {"float16": 2e-2, "float32": 2e-5}

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=str)


@every_sample
def test_first_derivative(sample):
    Problem(sample).assert_first_derivative()


@every_sample
def test_second_derivative(sample):
    Problem(sample).assert_second_derivative()


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
