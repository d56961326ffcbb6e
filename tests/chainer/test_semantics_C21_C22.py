"""Modes are thread-local, and exceptions leave the state unchanged."""

import threading

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, Log, Scale, chainer, f32, var


def _in_thread(f):
    result = []

    def run():
        try:
            result.append(f())
        except BaseException as e:
            result.append(e)

    t = threading.Thread(target=run)
    t.start()
    t.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


def _records():
    return (var([1.0]) * 2).creator is not None


@pytest.mark.semantics("C21")
def test_modes_nest():
    assert _records()
    with chainer.no_backprop_mode():
        assert not _records()
        assert (var([1.0]) * 2).requires_grad  # requires a gradient, but has no creator
        with chainer.force_backprop_mode():
            assert _records()
            with chainer.using_config("enable_backprop", False):
                assert not _records()
            assert _records()
        assert not _records()
    assert _records()


@pytest.mark.semantics("C21")
def test_modes_apply_to_functions_defined_in_python():
    with chainer.no_backprop_mode():
        (y,) = Scale().apply((var([1.0]),))
    assert y.creator is None and y.requires_grad


@pytest.mark.semantics("C21")
def test_modes_are_thread_local():
    with chainer.no_backprop_mode():
        assert _in_thread(_records)
        assert not _records()
    inside, go_on = threading.Event(), threading.Event()

    def other():
        with chainer.no_backprop_mode():
            inside.set()
            go_on.wait(10)
            return _records()

    result = []
    t = threading.Thread(target=lambda: result.append(other()))
    t.start()
    inside.wait(10)
    assert _records()
    go_on.set()
    t.join()
    assert result == [False]


@pytest.mark.semantics("C21")
def test_the_default_is_the_process_s():
    previous = chainer.global_config.enable_backprop
    try:
        chainer.global_config.enable_backprop = False
        assert not _records()
        assert not _in_thread(_records)
        with chainer.force_backprop_mode():
            assert _records()
    finally:
        chainer.global_config.enable_backprop = previous


@pytest.mark.semantics("C21")
def test_modes_come_back_after_an_exception():
    for mode in (chainer.no_backprop_mode, chainer.force_backprop_mode):
        with pytest.raises(ZeroDivisionError):
            with mode():
                raise ZeroDivisionError
        assert _records()


@pytest.mark.semantics("C21")
def test_hooks_are_thread_local():
    log = Log()
    with log:
        assert not _in_thread(lambda: dict(chainer.get_function_hooks()))
        assert list(chainer.get_function_hooks()) == ["Log"]
        _in_thread(_records)
    assert log.events == []


class Stop(Exception):
    pass


class Fails(Scale):
    def __init__(self, where):
        super().__init__(2.0)
        self.where = where

    def forward(self, inputs):
        if self.where == "forward":
            raise Stop
        return super().forward(inputs)

    def backward(self, indexes, grad_outputs):
        if self.where == "backward":
            raise Stop
        return super().backward(indexes, grad_outputs)


class FailingHook(chainer.FunctionHook):
    name = "FailingHook"

    def __init__(self, where, function):
        self.where = where
        self.function = function

    def _maybe(self, where, function):
        if where == self.where and function is self.function:
            raise Stop

    def forward_preprocess(self, function, in_data):
        self._maybe("forward_preprocess", function)

    def forward_postprocess(self, function, in_data):
        self._maybe("forward_postprocess", function)

    def backward_preprocess(self, function, in_data, out_grad):
        self._maybe("backward_preprocess", function)

    def backward_postprocess(self, function, in_data, out_grad):
        self._maybe("backward_postprocess", function)


@pytest.mark.semantics("C22")
@pytest.mark.parametrize("where", ["forward", "forward_preprocess", "forward_postprocess"])
def test_forward(where):
    x = var([1, 2])
    f = Fails(where)
    with pytest.raises(Stop):
        with FailingHook(where, f):
            f.apply((x,))
    assert not chainer.get_function_hooks()
    assert x.creator is None and x.grad is None and f.inputs is None
    f.where = None
    (y,) = f.apply((x,))
    y.grad = f32([1, 1])
    y.backward()
    np.testing.assert_array_equal(x.grad, [2, 2])


@pytest.mark.semantics("C22")
@pytest.mark.parametrize("where", ["backward", "backward_preprocess", "backward_postprocess"])
@pytest.mark.parametrize("run", ["Variable.backward", "retain_grad", "backward", "grad"])
@pytest.mark.parametrize("double", [False, True])
def test_backward(where, run, double):
    x, w = var([1, 2]), var([3, 4])
    x.grad = f32([100, 200])
    f = Fails(where)
    a = x * w
    (b,) = f.apply((a,))
    c = b * w + a
    y = c * 5
    y.grad = gy = f32([1, 10])

    def go():
        if run == "Variable.backward":
            y.backward(enable_double_backprop=double)
        elif run == "retain_grad":
            y.backward(retain_grad=True, enable_double_backprop=double)
        elif run == "backward":
            chainer.backward([y], enable_double_backprop=double)
        else:
            return chainer.grad([y], [x, w], [y.grad_var], enable_double_backprop=double)

    with chainer.using_config("enable_backprop", True), chainer.using_config("debug", False):
        hook = FailingHook(where, f)
        with pytest.raises(Stop):
            with hook:
                go()
        assert chainer.config.enable_backprop is True
    assert not chainer.get_function_hooks()
    np.testing.assert_array_equal(x.grad, [100, 200])
    assert w.grad is None and a.grad is None and b.grad is None
    if ORIGINAL:
        y.grad = gy  # the original does not keep it after an exception
    else:
        assert c.grad is None
        np.testing.assert_array_equal(y.grad, gy)
    f.where = None
    grads = go()
    if run == "grad":
        np.testing.assert_array_equal(grads[0].array, [5 * (2 * 9 + 3), 50 * (2 * 16 + 4)])
        np.testing.assert_array_equal(x.grad, [100, 200])
    else:
        np.testing.assert_array_equal(x.grad, [100 + 5 * (2 * 9 + 3), 200 + 50 * (2 * 16 + 4)])
    if run == "retain_grad":
        np.testing.assert_array_equal(c.grad, [5, 50])


@pytest.mark.semantics("C22")
def test_a_failing_pass_inside_a_hook_leaves_the_outer_pass_alone():
    x = var([1, 2])
    f = Fails("backward")
    (bad,) = f.apply((x * 7,))
    inner_errors = []

    class Nested(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            if function is f or inner_errors:
                return
            try:
                chainer.grad([bad], [x])
            except Stop as e:
                inner_errors.append(e)

    y = x * 3 + x * 4
    y.grad = f32([1, 1])
    with Nested():
        y.backward()
    assert len(inner_errors) == 1
    np.testing.assert_array_equal(x.grad, [7, 7])


@pytest.mark.semantics("C22")
def test_messages_under_debug_say_where_forward_was_called():
    with chainer.using_config("debug", True):
        f = Fails("backward")
        (y,) = f.apply((var(1.0),))  # THIS line
        with pytest.raises(Stop) as e:
            y.backward()
    assert "Stacktrace of the function is below" in str(e.value)
    assert "# THIS line" in str(e.value)
