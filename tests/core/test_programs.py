"""Programs: lists of steps that run in one call, some of them functions of Python."""

import signal
import threading

import numpy as np
import pytest
import torch

from compatgrad import _C, Variable, ops

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


def test_recorded_functions_are_a_step():
    x, w = Variable(X), Variable(torch.full((3,), 2.0))
    y = ops.sum(ops.relu(x * w - 3) ** 2 + x, axis=(1,))
    step = _C.recorded_step(y, [x, w])
    assert type(step) is _C.Step and torch.equal(step(X, w.tensor), y.tensor)
    for given, weight in ((X - 4, torch.tensor([1.0, -1.0, 0.5])), (torch.randn(5, 3), torch.ones(3))):
        torch.testing.assert_close(step(given, weight), ((given * weight - 3).relu() ** 2 + given).sum(1))
    with pytest.raises(ValueError, match="expected 2 tensors, got 1"):
        step(X)


def test_other_variables_of_recorded_functions_are_constants():
    x, w = Variable(X), Variable(torch.full((3,), 2.0))
    step = _C.recorded_step(x * w, [x])
    w.tensor.fill_(0.5)  # the step has the tensor, not its values
    assert torch.equal(step(X), X / 2)


def test_there_is_no_step_without_recorded_functions_of_one_result():
    x = Variable(X)
    assert _C.recorded_step(x, [x]) is None
    assert _C.recorded_step(Variable(X), [x]) is None
    with pytest.raises(TypeError):
        _C.recorded_step(X, [x])


def test_recorded_steps_in_threads():
    x = Variable(torch.randn(40, 50))
    step = _C.recorded_step(ops.sum(ops.tanh(x * x), axis=(0,)), [x])
    p = _C.program([(step, (0,), 1, ()), (step, (0,), 2, ()), (ADD, (1, 2), 3, ())], [None] * 4, [0], [3])
    wrong = []

    def work(k):
        given = torch.randn(40, 50, generator=torch.Generator().manual_seed(k))
        for _ in range(200):
            y = _C.run_program(p, [given])[0]
            if not torch.allclose(y, 2 * torch.tanh(given * given).sum(0), atol=1e-5):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_programs_that_check_inputs_and_outputs():
    """Inputs whose squares add up to `most` or more, and outputs that are not finite, have no results."""
    double = _C.torch_step("aten::mul", "Scalar", (..., 2.0))
    p = _C.program([(double, (0,), 1, ())], [None, None], [0], [1])
    assert torch.equal(_C.run_program(p, [X], 56.0)[0], 2 * X)  # the squares add up to 55
    assert _C.run_program(p, [X], 55.0) is None
    assert torch.equal(_C.run_program(p, [X.T], 56.0)[0], 2 * X.T)
    for wrong in (float("nan"), float("inf"), -float("inf")):
        given = X.clone()
        given[1, 1] = wrong
        assert _C.run_program(p, [given], 1e30) is None
        assert _C.run_program(p, [given])[0].isfinite().sum() == 5
    log = _C.program([(_C.torch_step("aten::log", "", (...,)), (0,), 1, ())], [None, None], [0], [1])
    assert _C.run_program(log, [X], 1e30) is None and _C.run_program(log, [X + 1], 1e30) is not None
