"""The engine's counts of the functions that run."""

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import _C


@pytest.fixture
def told():
    told = []
    _C.set_tally(lambda *words: told.append(words))
    yield told
    _C.set_tally(None)


def counts():
    return {(op, frontend): n for op, frontend, device, dtype, n in _C.tallies()}


def test_functions_are_counted_by_frontend_and_dtype_and_told_once(told):
    x = chainer.Variable(np.ones((2, 3), np.float32))
    for _ in range(3):
        F.relu(x)
    F.relu(chainer.Variable(np.ones(2)))
    compatgrad.ops.relu(compatgrad.Variable(torch.ones(2)))
    assert sorted(_C.tallies(), key=str) == [
        ("relu", "chainer", "cpu", torch.float32, 3),
        ("relu", "chainer", "cpu", torch.float64, 1),
        ("relu", "compatgrad", "cpu", torch.float32, 1),
    ]
    assert [words[:3] for words in told] == [
        ("run", "relu", "chainer"), ("run", "relu", "chainer"), ("run", "relu", "compatgrad"),
    ]  # fmt: skip
    assert told[0][3].label == "ReLU"


def test_a_static_graph_counts_when_it_runs(told):
    x = nn.Variable((2, 3))
    x.d = 1
    y = NF.relu(x)
    assert counts() == {}
    assert [words[:3] for words in told] == [("recorded", "relu", "nnabla")]
    for _ in range(4):
        y.forward()
    assert counts() == {("relu", "nnabla"): 4}
    assert told[1][:3] == ("run", "relu", "nnabla") and told[1][3].name == "ReLU"


def test_an_array_that_cannot_be_shared_is_told_at_each_copy(told):
    x = np.ones((2, 3), np.float32)
    F.relu(x)
    assert [words for words in told if words[0] == "copy"] == []
    F.relu(x[::-1])
    (copy,) = [words for words in told if words[0] == "copy"]
    assert copy[1].strides == (-12, 4)


def test_an_exception_of_the_listener_ends_the_call_and_the_next_one_works():
    def refuse(*words):
        raise LookupError("refused")

    x = chainer.Variable(np.ones(2, np.float32))
    _C.set_tally(refuse)
    try:
        with pytest.raises(LookupError, match="refused"):
            F.relu(x)
        assert F.relu(x).array.tolist() == [1, 1]
        assert counts() == {("relu", "chainer"): 2}
    finally:
        _C.set_tally(None)
    assert _C.tallies() == []


def test_a_listener_may_stop_the_count(told):
    _C.set_tally(lambda *words: _C.set_tally(None))
    F.relu(np.ones(2, np.float32))
    assert _C.tallies() == []
