"""mx.profiler: MXNet's names of operators, their times, and the file of events."""

import json

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd, profiler


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "profile.json"
    profiler.set_config(filename=str(path), profile_all=True, aggregate_stats=True)
    profiler.dumps(reset=True)
    yield path
    profiler.set_state("stop")
    profiler.dumps(reset=True)


def times(**options):
    return json.loads(profiler.dumps(format="json", **options))["Time"]


def test_operators_forward_and_backward_by_name(path):
    profiler.set_state("run")
    x = nd.ones((4, 4))
    x.attach_grad()
    with autograd.record():
        y = nd.FullyConnected(nd.sqrt(x + 1) + 1, x, num_hidden=4, no_bias=True)
    y.backward()
    found = times()["operator"]  # while it runs
    profiler.set_state("stop")
    nd.exp(x)
    expected = ["_plus_scalar", "sqrt", "FullyConnected", "_backward_FullyConnected", "_backward_sqrt", "_ones"]
    assert set(expected) <= set(found) and "exp" not in times()["operator"]
    assert found["_plus_scalar"]["Count"] == 2 and found["sqrt"]["Count"] == 1
    assert found["sqrt"]["Min"] == found["sqrt"]["Total"] > 0
    # a comma follows each event, so an empty one ends the list
    events = json.loads(path.read_text())["traceEvents"][:-1]
    assert [e["ph"] for e in events if e["name"] == "sqrt"] == ["B", "E"]
    lines = profiler.dumps(reset=True).splitlines()
    assert lines[1] == "Profile Statistics:" and lines[3] == "operator" and lines[5].split()[1:3] == ["Total", "Count"]
    assert times() == {}


@pytest.mark.parametrize("key", ["total", "avg", "min", "max", "count"])
def test_rows_are_sorted(path, key):
    profiler.set_state("run")
    x = nd.ones((30, 30))
    for _ in range(3):
        x = nd.dot(x, x + 1)
    nd.exp(x)
    for ascending in (False, True):
        column = [row[key.capitalize()] for row in times(sort_by=key, ascending=ascending)["operator"].values()]
        assert len(column) >= 4 and column == sorted(column, reverse=not ascending)


def test_what_is_in_a_custom_operator(path):
    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy()) + 1)
            nd.zeros((2,))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("profiled")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Op()

    x = nd.ones((3,))
    x.attach_grad()
    profiler.set_state("run")
    with autograd.record():
        y = nd.Custom(x, op_type="profiled")
    y.backward()
    found = times()["Custom Operator"]
    assert {"profiled::pure_python", "_backward_profiled::pure_python", "profiled::_plus_scalar",
            "profiled::_zeros", "_backward_profiled::_mul_scalar"} <= set(found)  # fmt: skip
    assert "_plus_scalar" not in times().get("operator", {})


def test_tasks_counters_markers_and_pauses(path):
    domain = profiler.Domain("work")
    profiler.set_state("run")
    counter = domain.new_counter("steps", 2)
    counter += 3
    assert counter.value == 5
    with_task, paused = domain.new_task("part"), profiler.Event("paused")
    with_task.start()
    profiler.pause()
    paused.start()
    nd.sqrt(nd.ones((2,)))
    paused.stop()
    profiler.resume()
    with_task.stop()
    domain.new_marker("here").mark()
    profiler.dump(False)
    size = path.stat().st_size
    nd.sqrt(nd.ones((2,)))
    profiler.dump(False)  # appends the new events
    assert path.stat().st_size > size
    found = times()
    assert found["work"]["part"]["Count"] == 1 and "event" not in found and found["operator"]["sqrt"]["Count"] == 1
    events = json.loads(path.read_text())["traceEvents"][:-1]
    assert len([e for e in events if e["name"] == "sqrt"]) == 2
    assert [e["args"]["steps"] for e in events if e["ph"] == "C"] == [5]
    assert [e["name"] for e in events if e["ph"] == "i"] == ["here"]


def test_an_operator_that_raises_leaves_nothing_open(path):
    profiler.set_state("run")
    with pytest.raises(mx.MXNetError):
        nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
    nd.sqrt(nd.ones((2,)))
    assert times()["operator"]["sqrt"]["Count"] == 1


def test_without_statistics_and_without_a_run(path):
    profiler.set_config(aggregate_stats=False)
    profiler.set_state("run")
    np.testing.assert_array_equal(nd.sqrt(nd.ones((2,))).asnumpy(), [1, 1])
    assert profiler.dumps() == "" and profiler.dumps(format="json") == ""
    profiler.dump()
    with pytest.raises(mx.MXNetError, match="hasn't been run"):
        profiler.dump()
    with pytest.raises(ValueError, match="unknown option 'foo'"):
        profiler.set_config(foo=1)
    with pytest.raises(KeyError):
        profiler.set_state("go")
