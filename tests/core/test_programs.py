"""Programs: lists of steps that run in one call, some of them functions of Python."""

import signal
import threading

import numpy as np
import pytest
import torch

from compatgrad import _C

X = torch.arange(6.0).reshape(2, 3)
RELU, NEG = (_C.torch_step(f"aten::{name}", "", (...,)) for name in ("relu", "neg"))
ADD = _C.torch_step("aten::add", "Tensor", (..., ...))


def program_with(function):
    """-function(relu(x)), where the parameter 10 is added to what the function gets."""
    steps = [(RELU, (0,), 2, ()), (ADD, (2, 1), 3, (2,)), (function, (3,), 4, (3,)), (NEG, (4,), 5, ())]
    return _C.program(steps, [None, torch.tensor(10.0), *[None] * 4], [0], [5, 4])


def test_steps_run_in_their_order_and_results_are_contiguous_and_new():
    p = program_with(lambda t: t.T)
    for x in (X, X - 3, X.T.contiguous().T):
        y, between = _C.run_program(p, [x])
        assert torch.equal(y, -(x.relu() + 10).T) and torch.equal(between, -y)
        assert y.is_contiguous() and between.is_contiguous()
        assert _C.run_program(p, [x])[0].data_ptr() != y.data_ptr()


def test_nothing_is_recorded():
    seen = []
    weight = torch.ones(3, requires_grad=True)
    p = program_with(lambda t: seen.append(torch.is_grad_enabled()) or (t * weight))
    y, _ = _C.run_program(p, [X])
    assert seen == [False] and not y.requires_grad and torch.is_grad_enabled()


class Stop(Exception):
    pass


@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt, SystemExit])
def test_an_exception_of_a_step_ends_the_call_and_the_next_one_runs(error):
    def function(t):
        if fail:
            raise error("inside")
        return t

    p, fail = program_with(function), True
    for _ in range(3):
        with pytest.raises(error, match="inside"):
            _C.run_program(p, [X])
    fail = False
    assert torch.equal(_C.run_program(p, [X])[0], -X - 10)


def test_an_error_of_torch_inside():
    p = program_with(lambda t: t)
    with pytest.raises(RuntimeError, match="must match|expand|broadcast"):
        _C.run_program(_C.program([(ADD, (0, 1), 2, ())], [None, torch.ones(5), None], [0], [2]), [X])
    assert torch.equal(_C.run_program(p, [X])[0], -X - 10)


def test_ctrl_c_during_a_program():
    """Signals that arrive while no function of Python runs raise their exception after the program."""

    def interrupt(t):
        signal.raise_signal(signal.SIGINT)
        return t

    with pytest.raises(KeyboardInterrupt):
        _C.run_program(program_with(interrupt), [X])
    assert torch.equal(_C.run_program(program_with(lambda t: t), [X])[0], -X - 10)


def test_threads_run_the_same_program_at_once():
    """The barrier of a step is passed only if both threads are inside the program."""
    barrier = threading.Barrier(2, timeout=20)
    p, results = program_with(lambda t: barrier.wait() * 0 + t), {}

    def work(k):
        results[k] = [_C.run_program(p, [X * k])[0] for _ in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in (1, 2):
        assert all(torch.equal(y, -X * k - 10) for y in results[k])


def test_other_threads_run_while_a_program_computes():
    big = torch.rand(700, 700)
    product = _C.torch_step("aten::mm", "", (..., ...))
    p = _C.program([(product, (0, 0), 1, ()), *[(product, (0, 1), 1, ())] * 20], [None, None], [0], [1])
    count, done = 0, threading.Event()

    def work():
        _C.run_program(p, [big])
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(1e-4):
        count += 1
    thread.join()
    assert count > 2


def test_a_step_may_run_another_program():
    inner = program_with(lambda t: t)
    outer = program_with(lambda t: _C.run_program(inner, [t])[0])
    assert torch.equal(_C.run_program(outer, [X])[0], X + 20)


@pytest.mark.parametrize(
    "steps, places, inputs, outputs, error",
    [
        ([(RELU, (2,), 1, ())], [None, None], [0], [1], IndexError),
        ([(RELU, (0,), 2, ())], [None, None], [0], [1], IndexError),
        ([(RELU, (0,), 1, (-1,))], [None, None], [0], [1], IndexError),
        ([(RELU, (0,), 1, ())], [None, None], [7], [1], IndexError),
        ([(RELU, (0,), 1, ())], [None, None], [0], [2], IndexError),
        ([(RELU, (0,), 1)], [None, None], [0], [1], ValueError),
        ([(RELU, (0,), 1, ())], [None, 3], [0], [1], TypeError),
        ([3], [None, None], [0], [1], TypeError),
    ],
)
def test_wrong_programs_are_refused(steps, places, inputs, outputs, error):
    with pytest.raises(error):
        _C.program(steps, places, inputs, outputs)


def test_wrong_inputs_and_results_are_refused():
    p = program_with(lambda t: t)
    for inputs, error in (([], ValueError), ([X, X], ValueError), ([np.ones(3)], TypeError)):
        with pytest.raises(error):
            _C.run_program(p, inputs)
    with pytest.raises(TypeError, match="result"):
        _C.run_program(program_with(lambda t: None), [X])
    with pytest.raises(ValueError):
        _C.run_program(object(), [X])
    with pytest.raises(RuntimeError, match="no value"):
        _C.run_program(_C.program([(RELU, (1,), 2, ())], [None, None, None], [0], [2]), [X])
    with pytest.raises(RuntimeError, match="no value"):
        _C.run_program(_C.program([(RELU, (0,), 1, ())], [None, None, None], [0], [2]), [X])


def test_programs_are_freed_with_their_parameters():
    import weakref

    t = torch.ones(3)
    alive = weakref.ref(t)
    p = _C.program([(lambda x, y: x, (0, 1), 2, ())], [None, t, None], [0], [2])
    del t, p
    assert alive() is None
