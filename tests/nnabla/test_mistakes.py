"""Typical mistakes raise the exceptions of nnabla, with sentences that name the argument."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF


@pytest.fixture(autouse=True)
def no_parameters():
    yield
    nn.clear_parameters()


def variable(*shape):
    return nn.Variable.from_numpy_array(np.ones(shape, np.float32))


@pytest.mark.parametrize("call, error, text", [
    (lambda: PF.affine(variable(4, 3), 2, base_axis=3), RuntimeError, r"affine: base_axis is 3.*\(4, 3\)"),
    (lambda: PF.batch_normalization(variable(4, 3), axes=[5]), IndexError, "batch_normalization: axes is 5"),
    (lambda: F.mean(variable(4, 3), axis="a"), TypeError, "mean: axis.*: an integer is required, got 'a'"),
    (lambda: F.sum(variable(4, 3), axis="1"), TypeError, "sum: axis.*: an integer is required, got '1'"),
    (lambda: F.split(variable(4, 3), axis=4), IndexError, "split: axis must be in the range"),
    (lambda: F.relu(np.ones(2)), AssertionError, "relu: x: expected a Variable or an NdArray, got ndarray"),
    (lambda: F.add2(variable(2), None), AssertionError, "add2: x1: expected a Variable"),
    (lambda: PF.affine(np.ones((4, 3)), 2), AssertionError, "affine: x: expected a Variable"),
])  # fmt: skip
def test_mistakes_raise_the_exceptions_of_nnabla(call, error, text):
    with pytest.raises(error, match=text):
        call()
