"""Initializers: recorded values, distributions, and what decides between them."""

import json
import logging

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd
from compatgrad.mxnet.initializer import InitDesc
from tests.golden import mxnet_metrics as golden

RECORDED = json.loads(golden.GOLDEN.read_text())["initializers"]


def test_values_as_recorded():
    found = golden.initializers(mx)
    for (name, values), (recorded_name, recorded) in zip(found["exact"][:-1], RECORDED["exact"][:-1], strict=True):
        assert name == recorded_name
        np.testing.assert_allclose(values, recorded, rtol=1e-6)
    assert found["exact"][-1] == RECORDED["exact"][-1]
    for (name, most, std), (recorded_name, recorded_most, recorded_std) in zip(
        found["random"], RECORDED["random"], strict=True
    ):
        assert name == recorded_name
        assert std == pytest.approx(recorded_std, rel=0.05)
        assert most == pytest.approx(recorded_most, rel=0.01 if '"uniform"' in name[0][:24] else 0.4)


def test_orthogonal_rows():
    w = nd.zeros((4, 3, 2))
    mx.init.Orthogonal(scale=2)(InitDesc("weight"), w)
    rows = w.asnumpy().reshape(4, 6)
    np.testing.assert_allclose(rows @ rows.T, 4 * np.eye(4), atol=1e-5)


def test_seed_repeats():
    w = [nd.zeros((3, 4)) for _ in range(2)]
    for x in w:
        mx.random.seed(3)
        mx.init.Xavier()(InitDesc("weight"), x)
    assert np.array_equal(w[0].asnumpy(), w[1].asnumpy()) and w[0].asnumpy().std() > 0


def test_own_initializers():
    @mx.init.register
    @mx.init.alias("number")
    class ByNumber(mx.init.Initializer):
        def __init__(self, number=3):
            super().__init__(number=number)
            self.number = number

        def _init_weight(self, name, arr):
            arr[:] = self.number

        def _init_default(self, name, arr):
            arr[:] = -1

    init = mx.init.create("number", number=5)
    assert init.dumps() == '["bynumber", {"number": 5}]' and init == ByNumber(5) and init != ByNumber(4)
    x = nd.zeros(2)
    mx.init.create(init.dumps())(InitDesc("x_weight"), x)
    assert x.asnumpy().tolist() == [5, 5]
    mx.init.create({"initializer": "bynumber"})(InitDesc("whatever"), x)
    assert x.asnumpy().tolist() == [-1, -1]


def test_verbosity(caplog):
    with caplog.at_level(logging.INFO):
        mx.init.One().set_verbosity(True)(InitDesc("x_weight"), nd.zeros(4))
    assert "x_weight" in caplog.text and "1.0" in caplog.text


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: mx.init.create("foo"), AssertionError, "foo is not registered"),
        (lambda: mx.init.create(mx.init.Zero(), 3), AssertionError, "already an instance"),
        (lambda: mx.init.create(3), AssertionError, "string.*int"),
        (lambda: mx.init.register(int), AssertionError, "Initializer"),
        (lambda: mx.init.Xavier()(InitDesc("x_weight"), nd.zeros(3)), ValueError, "vector x_weight.*2D"),
        (lambda: mx.init.Xavier()(InitDesc("x_foo"), nd.zeros(3)), ValueError, "x_foo"),
        (lambda: mx.init.Xavier(factor_type="q")(InitDesc("weight"), nd.zeros((3, 3))), ValueError, "factor type"),
        (lambda: mx.init.Xavier(rnd_type="q")(InitDesc("weight"), nd.zeros((3, 3))), ValueError, "random type"),
        (lambda: mx.init.Mixed(["bias"], [mx.init.Zero()])("weight", nd.zeros(3)), ValueError, "weight.*pattern"),
        (lambda: mx.init.Load({"x": nd.ones(2)})("y", nd.zeros(2)), AssertionError, "y.*no default"),
        (lambda: mx.init.Load({"x": nd.ones(2)})("x", nd.zeros(3)), AssertionError, r"\(3,\).*\(2,\)"),
        (lambda: mx.init.Initializer()(InitDesc("weight"), nd.zeros(3)), NotImplementedError, "_init_weight"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()
