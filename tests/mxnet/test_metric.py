"""Metrics give the values recorded from MXNet."""

import json

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd
from tests.golden import mxnet_metrics as golden

RECORDED = json.loads(golden.GOLDEN.read_text())


def same(found, recorded):
    if isinstance(recorded, dict):
        assert found.keys() == recorded.keys()
        for key in recorded:
            same(found[key], recorded[key])
    elif isinstance(recorded, list):
        assert len(found) == len(recorded)
        for a, b in zip(found, recorded, strict=True):
            same(a, b)
    elif isinstance(recorded, float):
        assert found == pytest.approx(recorded, rel=2e-6, abs=1e-8, nan_ok=True)
    else:
        assert found == recorded


def test_values_as_recorded():
    same(json.loads(json.dumps(golden.metrics(mx))), RECORDED["metrics"])


def test_composite_keeps_children():
    accuracy = mx.metric.Accuracy()
    accuracy.update(nd.array([1, 0]), nd.array([[0, 1], [0, 1]]))
    both = mx.metric.CompositeEvalMetric([accuracy, "mse"])
    assert both.get()[0] == ["accuracy", "mse"] and both.get()[1][0] == 0.5
    assert str(both) == "EvalMetric: {'accuracy': 0.5, 'mse': nan}"
    both.add(mx.metric.np(lambda label, pred: 1.0, name="one"))
    assert both.get_metric(2).name == "one"
    with pytest.raises(ValueError, match="index 7"):
        both.get_metric(7)
    both.reset()
    assert np.isnan(accuracy.get()[1])
    again = mx.metric.create(**{**both.get_metric(1).get_config()})
    assert isinstance(again, mx.metric.MSE)


def test_own_metrics():
    @mx.metric.register
    @mx.metric.alias("my_own")
    class Mine(mx.metric.EvalMetric):
        def update(self, labels, preds):
            self.sum_metric += 3
            self.num_inst += 2

    metric = mx.metric.create("my_own", name="m")
    metric.update(None, None)
    assert metric.get() == metric.get_global() == ("m", 1.5) and metric.get_global_name_value() == [("m", 1.5)]


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: mx.metric.create("foo"), AssertionError, "foo is not registered.*metric.register"),
        (lambda: mx.metric.TopKAccuracy(1), AssertionError, "use Accuracy"),
        (lambda: mx.metric.Accuracy().update([nd.ones(2)], [nd.ones((3, 2))]), ValueError, "labels 2 .*predictions 3"),
        (lambda: mx.metric.Accuracy().update([nd.ones(2)], []), ValueError, "labels 1 .*predictions 0"),
        (lambda: mx.metric.F1().update(nd.array([0, 1, 2]), nd.ones((3, 2))), ValueError, "F1.*binary"),
        (lambda: mx.metric.np(max).get_config(), NotImplementedError, "serialized"),
        (lambda: mx.metric.EvalMetric("x").update([], []), NotImplementedError, "update"),
        (lambda: mx.metric.check_label_shapes(nd.ones(2), nd.ones((2, 1)), shape=True), ValueError, r"\(2, 1\)"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()
