"""Reported values and their statistics."""

import warnings

import numpy as np
import pytest

from tests.chainer.subject import chainer, f32, var


class Memory(chainer.Serializer):
    """Saves into a dictionary."""

    def __init__(self, values=None, path=""):
        self.values = {} if values is None else values
        self.path = path

    def __getitem__(self, key):
        return type(self)(self.values, f"{self.path}{key}/")

    def __call__(self, key, value):
        self.values[self.path + key] = value
        return value


class FromMemory(chainer.Deserializer):
    """Loads from a dictionary."""

    __init__ = Memory.__init__
    __getitem__ = Memory.__getitem__

    def __call__(self, key, value):
        return self.values[self.path + key]


def test_report_goes_to_the_current_reporter():
    chainer.report({"nobody": 1})  # does nothing
    outer, inner = chainer.Reporter(), chainer.Reporter()
    with outer:
        assert chainer.get_current_reporter() is outer
        with inner:
            chainer.report({"x": 1})
        chainer.report({"y": 2})
    assert inner.observation == {"x": 1} and outer.observation == {"y": 2}
    with pytest.raises(IndexError):
        chainer.get_current_reporter()


def test_observers():
    reporter = chainer.Reporter()
    one, two, stranger = object(), object(), object()
    reporter.add_observer("one", one)
    reporter.add_observers("the/", [("other", two)])
    with reporter:
        chainer.report({"x": 1}, one)
        chainer.report({"x": 2}, two)
        with pytest.raises(KeyError):
            chainer.report({"x": 3}, stranger)
    assert reporter.observation == {"one/x": 1, "the/other/x": 2}


@pytest.mark.parametrize("scope", ["scope", "report_scope"])
def test_scope(scope):
    reporter = chainer.Reporter()
    values = {}
    with reporter:
        with chainer.report_scope(values) if scope == "report_scope" else reporter.scope(values):
            chainer.report({"x": 1})
        chainer.report({"y": 2})
    assert values == {"x": 1} and reporter.observation == {"y": 2}


@pytest.mark.semantics("C22")
def test_scope_ends_with_an_exception():
    reporter = chainer.Reporter()
    before = reporter.observation
    with pytest.raises(ZeroDivisionError), reporter.scope({}):
        _ = 1 / 0
    assert reporter.observation is before
    with pytest.raises(IndexError):
        chainer.get_current_reporter()


def test_reported_variable_has_no_graph():
    x = var([1.0])
    y = x * 2
    reporter = chainer.Reporter()
    with reporter:
        chainer.report({"y": y})
        with chainer.using_config("keep_graph_on_report", True):
            chainer.report({"kept": y})
    assert reporter.observation["y"] is not y and reporter.observation["y"].creator is None
    assert reporter.observation["y"].array is y.array
    assert reporter.observation["kept"] is y and y.creator is not None


def test_dict_summary():
    summary = chainer.DictSummary()
    summary.add({"x": 1.0, "v": chainer.Variable(np.array(2, "f")), "w": (10.0, 3), "text": [1], "array": f32([1, 2])})
    summary.add({"x": np.float32(3), "w": (2.0, np.array(1))})
    assert summary.compute_mean() == {"x": 2.0, "v": 2.0, "w": 8.0}
    statistics = summary.make_statistics()
    assert statistics["x.std"] == 1.0 and statistics["v.std"] == 0.0
    np.testing.assert_allclose(statistics["w.std"], 12**0.5)
    with pytest.raises(ValueError, match="weight"):
        summary.add({"x": (1.0, f32([1, 2]))})


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_summary_counts_in_double_precision(dtype):
    """A float32 number and a Python number give a float64 number with Chainer's NumPy; NumPy 2 keeps float32."""
    summary = chainer.Summary()
    for value in (100, 3, 7):
        summary.add(np.dtype(dtype).type(value))
        summary.add(np.array(value, dtype), weight=np.float32(2))
    mean, deviation = summary.make_statistics()
    assert mean.dtype == deviation.dtype == np.float64
    assert (float(mean), float(deviation)) == (np.mean([100, 3, 7]), pytest.approx(np.std([100, 3, 7]), rel=1e-12))


def test_summary_leaves_what_was_added():
    x = np.array(1.0)
    summary = chainer.Summary()
    summary.add(x)
    summary.add(x)
    assert x == 1.0 and summary.compute_mean() == 1.0


def test_serialization():
    summary = chainer.DictSummary()
    summary.add({"a/b": 1.0, "c": 5.0})
    summary.add({"a/b": 2.0})
    target = Memory()
    summary.serialize(target)
    loaded = chainer.DictSummary()
    loaded.add({"gone": 1.0})
    loaded.serialize(FromMemory(target.values))
    assert loaded.make_statistics() == summary.make_statistics()
    for empty in (chainer.Summary(), chainer.DictSummary()):
        with pytest.warns(UserWarning, match="not saved"):
            empty.serialize(FromMemory({}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chainer.Summary().serialize(FromMemory({"_x": 1.0, "_x2": 1.0, "_n": 1}))
