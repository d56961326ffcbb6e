"""Compiled functions whose arguments are objects, and whose traces are interrupted or meet other threads, random
numbers and graphs that were recorded before."""

import functools
import sys
import threading
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad import interop
from compatgrad.exporting import _target

X = np.ones((2, 3), np.float32)


def model():
    m = L.Linear(3, 4)
    m.W.array[...] = np.random.RandomState(0).randn(4, 3)
    return m


def step_of(m, change):
    """A step whose loss is changed by a further argument."""

    def step(x, argument):
        m.cleargrads()
        loss = change(F.sum(m(x) ** 2), argument)
        loss.backward()
        return loss

    return step


# ---- arguments that are no inputs ------------------------------------------------------------------------------------


class Options:
    def __init__(self, factor):
        self.factor = factor


@dataclass(frozen=True)
class Frozen:
    factor: float


Named = namedtuple("Named", "factor")


@pytest.mark.parametrize("make", [Options, Frozen, Named, lambda k: Options(np.float32(k))])
def test_objects_as_arguments(make):
    """Each object is gone when the next one is made, which then has its address."""
    m = model()
    step = step_of(m, lambda loss, o: loss * float(o.factor))
    compiled = interop.compile(step, parameters=m)
    found = [(compiled(X, make(k)).array, m.W.grad.copy()) for k in (1, 2, 3, 1)]
    expected = [(step(X, make(k)).array, m.W.grad.copy()) for k in (1, 2, 3, 1)]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-5)
        np.testing.assert_allclose(a[1], b[1], rtol=1e-5)


@pytest.mark.parametrize("make", [lambda k: lambda y: y * k, lambda k: functools.partial(np.float32(k).__mul__)])
def test_functions_as_arguments(make):
    m = model()
    step = step_of(m, lambda loss, f: loss * float(f(np.float32(1.5))))
    compiled = interop.compile(step, parameters=m)
    for k in (1, 2, 3):
        np.testing.assert_allclose(compiled(X, make(k)).array, step(X, make(k)).array, rtol=1e-5)


def test_an_object_whose_attributes_change():
    m, options = model(), Options(1)
    step = step_of(m, lambda loss, o: loss * o.factor)
    compiled = interop.compile(step, parameters=m)
    for options.factor in (1, 2, 2.0, np.float32(3), 1):
        np.testing.assert_allclose(compiled(X, options).array, step(X, options).array, rtol=1e-5)


@pytest.mark.parametrize(
    "make", [lambda k: Frozen(2.0), lambda k: {1, 2}, lambda k: slice(0, 2), lambda k: "a" * 2, lambda k: np.float32(2)]
)
def test_equal_arguments_are_traced_once(make):
    m = model()
    calls = []
    compiled = interop.compile(step_of(m, lambda loss, o: (calls.append(o), loss)[1]), parameters=m)
    compiled(X, make(0))
    count = len(calls)
    for k in range(3):
        compiled(X, make(k))
    assert len(calls) == count


def test_sets_and_slices_that_differ():
    m = model()
    step = step_of(m, lambda loss, o: loss * (sum(o) if isinstance(o, set) else o.stop))
    compiled = interop.compile(step, parameters=m)
    for argument in ({1, 2}, {2, 3}, slice(1, 2), slice(1, 3), {1, 2}):
        np.testing.assert_allclose(compiled(X, argument).array, step(X, argument).array, rtol=1e-5)


def test_inputs_without_axes_after_others():
    m = model()
    fn = interop.compile(lambda x: F.sum(m.W) * F.sum(F.identity(x)), parameters=m, backend="eager")
    for x in (X, np.float32(2).reshape(()), X[0], X):
        expected = F.sum(m.W) * F.sum(chainer.Variable(np.asarray(x)))
        np.testing.assert_allclose(fn(chainer.Variable(np.asarray(x))).array, expected.array, rtol=1e-5)


@pytest.mark.parametrize("dtype", "bool int8 int16 int32 int64 uint8".split())
def test_labels_in_variables(dtype):
    """A Variable of integers says that it needs a gradient, and gets none."""
    m = model()

    def step(x, t):
        m.cleargrads()
        loss = F.sum(m(x) ** 2) + F.sum(F.cast(t, "float32"))
        loss.backward()
        return loss

    compiled = interop.compile(step, parameters=m)
    t = chainer.Variable(np.array([0, 1]).astype(dtype))
    for _ in range(2):
        np.testing.assert_allclose(compiled(X, t).array, step(X, t).array, rtol=1e-5)
        assert t.grad is None


# ---- what a trace reads ----------------------------------------------------------------------------------------------


def test_a_parameter_that_is_read_beside_dropout_is_an_error():
    """Results of random functions are not compared."""
    m = model()
    step = step_of(m, lambda loss, k: loss + F.sum(F.dropout(m(X), 0.5)) * float(abs(m.W.array).max()))
    w = m.W.array.copy()
    with pytest.raises(interop.ExportError, match="values of parameters"):
        interop.compile(step, parameters=m)(X, 1)
    np.testing.assert_array_equal(m.W.array, w)


@pytest.mark.parametrize("draw", [np.random.rand, np.random.RandomState(0).rand])
def test_a_choice_by_random_numbers_of_numpy(draw):
    m = model()
    step = step_of(m, lambda loss, k: loss * 2 if draw() < 2 else loss)
    if draw is np.random.rand:
        with pytest.raises(interop.ExportError, match="draws random numbers"):
            interop.compile(step, parameters=m)(X, 1)
    else:  # a generator of the code's own is not known
        assert interop.compile(step, parameters=m)(X, 1).array == step(X, 1).array


def test_a_constant_with_nan():
    m = model()
    constant = np.array([1, np.nan, 3, 4], np.float32)
    step = step_of(m, lambda loss, k: loss + F.sum(F.where(np.isnan(constant), F.identity(constant * 0), m(X)[0])))
    compiled = interop.compile(step, parameters=m)
    np.testing.assert_array_equal(compiled(X, 1).array, step(X, 1).array)


def test_graphs_from_before_a_trace_can_be_differentiated():
    m, x = model(), chainer.Variable(X)
    first, second = (
        interop.compile(lambda x, f=f: F.sum(f(m(x)) ** 2), parameters=m, backend="eager") for f in (F.tanh, F.sigmoid)
    )
    loss = first(x) + second(x)
    m.cleargrads()
    loss.backward()
    found = m.W.grad.copy()
    m.cleargrads()
    (F.sum(F.tanh(m(x)) ** 2) + F.sum(F.sigmoid(m(x)) ** 2)).backward()
    np.testing.assert_allclose(found, m.W.grad, rtol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("ignored", ["one", "all"])
def test_scores_of_ignored_labels_that_are_not_finite(bad, ignored):
    """A kernel computes nothing for them. What it is replaced by in graphs and second derivatives does the same."""
    m = model()
    m.b.array[...] = 0
    t = np.array([-1, 2 if ignored == "one" else -1], np.int32)
    x = X.copy()

    def step(x):
        m.cleargrads()
        loss = F.softmax_cross_entropy(m(x), t)
        loss.backward()
        return loss

    compiled = interop.compile(step, parameters=m, backend="eager")
    compiled(x)
    x[0, 0] = bad
    expected = step(x).array, m.b.grad.copy()
    assert np.isfinite(expected[0]) and np.isfinite(expected[1]).all()
    np.testing.assert_allclose(compiled(x).array, expected[0], rtol=1e-5)
    np.testing.assert_allclose(m.b.grad, expected[1], rtol=1e-5, atol=1e-6)
    scores = m(x)
    (g,) = chainer.grad([F.softmax_cross_entropy(scores, t)], [scores], enable_double_backprop=True)
    np.testing.assert_allclose(g.array.sum(0), expected[1], rtol=1e-4, atol=1e-6)


# ---- interrupts and threads ------------------------------------------------------------------------------------------

RESTORING = set("keep undo _undo since leave end __exit__ unchanged put_gradient clear_gradient whole".split())


def test_interrupts_while_a_trace_restores_what_it_changed():
    """Python runs a signal's handler at the beginning of a function at the latest."""
    m = model()
    w, b = m.W.array.copy(), m.b.array.copy()
    m.W.grad, m.b.grad = np.full_like(w, 3), np.full_like(b, 5)
    step = step_of(m, lambda loss, k: loss)
    at, interrupted = 0, True
    while interrupted:
        at, interrupted, count = at + 1, False, 0

        def interrupt(frame, event, arg, at=at):
            nonlocal count, interrupted
            code = frame.f_code
            if event == "call" and code.co_name in RESTORING and code.co_filename == _target.__file__:
                count += 1
                if count == at:
                    interrupted = True
                    raise KeyboardInterrupt

        kept = None
        sys.setprofile(interrupt)
        try:
            interop.compile(step, parameters=m, example_inputs=(X, 1))
        except KeyboardInterrupt as e:
            kept = e  # with the frames of the trace
        finally:
            sys.setprofile(None)
        assert torch._C._len_torch_dispatch_stack() == 0
        np.testing.assert_array_equal(m.W.array, w)
        np.testing.assert_array_equal(m.b.array, b)
        assert (kept is not None) == interrupted
        assert m.W.grad is not None and (m.W.grad == 3).all() and (m.b.grad == 5).all(), at
    assert at > 30


def test_a_trace_waits_for_calls_in_other_threads(monkeypatch):
    """A trace changes parameters for some time."""
    m = model()
    first = interop.compile(step_of(m, lambda loss, k: loss), parameters=m)
    first(X, 1)
    (graph,) = first.graphs.values()
    run, inside, go_on, traced = graph.run_flat, threading.Event(), threading.Event(), threading.Event()

    def slow(*tensors):
        inside.set()
        go_on.wait(60)
        return run(*tensors)

    monkeypatch.setattr(graph, "run_flat", slow)
    second = interop.compile(step_of(m, lambda loss, k: (traced.set(), loss)[1]), parameters=m)
    threads = [threading.Thread(target=f, args=(X, 1)) for f in (first, second)]
    threads[0].start()
    assert inside.wait(60)
    threads[1].start()
    early = traced.wait(0.5)
    go_on.set()
    for t in threads:
        t.join(60)
    assert not early and traced.is_set()


def test_two_threads_that_trace_in_hooks():
    """Each thread traces while it has a call; neither waits for the other's."""
    m = model()
    outer = interop.compile(step_of(m, lambda loss, k: loss), parameters=m)
    outer(X, 1)
    meet = threading.Barrier(2)
    results = []

    def call():
        token = object()
        compiling = sys.modules["compatgrad.exporting.compile"]
        compiling._tracing.enter(token)
        try:
            meet.wait()
            results.append(interop.compile(step_of(m, lambda loss, k: loss), parameters=m)(X, 1).array)
        finally:
            compiling._tracing.calls.pop(token)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(results) == 2
