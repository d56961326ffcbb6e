import inspect

import pytest
import torch

import compatgrad
from compatgrad import _C, chainer


def test_every_op_is_there():
    assert set(_C.op_names()) <= set(dir(compatgrad.ops))
    for name in _C.op_names():
        assert getattr(compatgrad.ops, name).__doc__


def test_a_call_gives_a_native_variable():
    y = compatgrad.ops.sin(torch.tensor([0.0, 1.0]))
    assert type(y) is compatgrad.Variable
    assert torch.equal(y.tensor, torch.sin(torch.tensor([0.0, 1.0])))


def test_an_unknown_op_is_named():
    with pytest.raises(AttributeError, match="no op 'sine'"):
        compatgrad.ops.sine  # noqa: B018


def test_describe():
    assert compatgrad.ops.describe("leaky_relu").startswith("leaky_relu(x0, /, slope=0.2)\n")
    assert compatgrad.ops.describe("linear").startswith("linear(x0, x1, x2=None, /)")
    assert compatgrad.ops.describe("concat").startswith("concat(tensors, /, axis=1)")
    with pytest.raises(ValueError, match="nonsense"):
        compatgrad.ops.describe("nonsense")


def test_signatures():
    """Programs look at the arguments of what they call: ChainerRL's Sequence does."""
    for name in compatgrad.ops.__all__[1:]:
        assert str(inspect.signature(getattr(compatgrad.ops, name))).startswith("(")
    assert list(inspect.signature(chainer.functions.softmax).parameters) == ["x", "axis"]
    assert list(inspect.signature(chainer.functions.relu).parameters) == ["x"]
