"""Every op's values, dtypes and layouts, on every sample."""

import numpy as np
import pytest
import torch

from compatgrad import _C
from tests.ops.all_samples import SAMPLES, writes_inputs
from tests.ops.harness import Floats, numbers, strided

# of float16 and float32: the reference is computed in float64 from the rounded inputs
TOLERANCE = {"float16": 4e-3, "float32": 4e-6, "float64": 1e-12}

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=str)


def test_every_op_has_a_sample():
    sampled = {s.op for s in SAMPLES}
    assert sorted(set(_C.op_names()) - sampled) == []
    assert sorted(sampled - set(_C.op_names())) == []


def test_every_parameter_is_given_once_at_least():
    given = {(s.op, name) for s in SAMPLES for name in s.params}
    declared = [(op, name) for op in _C.op_names() for name, *_ in _C.op_info(op)["params"]]
    assert [d for d in declared if d not in given] == []


def test_every_op_is_documented():
    assert [op for op in _C.op_names() if not _C.op_info(op)["doc"]] == []


@every_sample
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values(sample, dtype):
    if dtype not in sample.dtypes:
        pytest.skip(f"{sample.op} is not defined for {dtype}")
    arrays = sample.arrays(dtype)
    ys = sample.run(sample.variables(arrays))
    expected = sample.expected(arrays)
    assert len(ys) == len(expected)
    for y, e in zip(ys, expected, strict=True):
        assert tuple(y.shape) == e.shape
        casts = sample.op in ("cast", "convert")
        if any(isinstance(x, Floats) for x in sample.inputs) and not casts and e.dtype.kind == "f":
            assert y.tensor.dtype == getattr(torch, dtype)
        tolerance = TOLERANCE[dtype] * sample.tolerance
        np.testing.assert_allclose(numbers(y), e, rtol=tolerance, atol=tolerance)


@every_sample
def test_layouts(sample):
    arrays = sample.arrays(sample.dtypes[-1])
    tensors = [
        strided(torch.tensor(a)) if isinstance(x, Floats) else a for a, x in zip(arrays, sample.inputs, strict=True)
    ]
    for y, e in zip(sample.run(sample.variables(tensors)), sample.run(sample.variables(arrays)), strict=True):
        torch.testing.assert_close(y.tensor, e.tensor)


@every_sample
def test_inputs_are_not_written(sample):
    if writes_inputs(sample):
        return
    arrays = sample.arrays(sample.dtypes[-1])
    xs = sample.variables(arrays)
    sample.run(xs)
    for x, a in zip(xs, arrays, strict=True):
        if a is not None:
            np.testing.assert_array_equal(x.tensor.numpy(), a)
